internal import Accounts
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    static let ownSessions = AccountOperation(
        "session-sessions", .get, "me/sessions", bearer: .required, budget: .account, metricsName: "sessions")
    static let endOwnSession = AccountOperation(
        "session-end-session", .delete, "me/sessions/*", bearer: .required, budget: .account, effect: .sessionsEnded,
        metricsName: "end-session")
    static let endOtherOwnSessions = AccountOperation(
        "session-end-other-sessions", .delete, "me/sessions", bearer: .required, budget: .account,
        effect: .sessionsEnded, metricsName: "end-other-sessions")
}

/// `GET me/sessions`: the user's active sessions.
struct OwnSessionListEndpoint: AccountEndpoint {
    static let operation = AccountOperation.ownSessions

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let open = try await endpoints.ownSessions().open(of: caller.userID, requestID: request.requestID)
        let sessions = open.map { OwnSession($0, isCurrent: $0.id.hasSameBytes(as: caller.sessionID)) }
        return AccountAnswer(.ok, ["success": true, "sessions": OwnSession.list(sessions)], subject: caller.userID)
    }
}

/// `DELETE me/sessions/{id}`: ends one of the user's sessions, possibly the caller's own.
struct EndOwnSessionEndpoint: AccountEndpoint {
    static let operation = AccountOperation.endOwnSession

    private let caller: SessionCaller
    private let id: String?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
        id = request.segment
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let requestID = request.requestID
        guard let id, let known = try await sessions.withRecords(requestID, { try await sessions.records.session(id) }),
            known.user.id.hasSameBytes(as: caller.userID)
        else { throw .unknownSession() }
        if known.session.endedAt == nil {
            try await sessions.end([known.session], askedBy: caller, requestID: requestID)
        }
        return .done(subject: caller.userID)
    }
}

/// `DELETE me/sessions`: ends all of the user's sessions except the caller's own.
struct EndOtherOwnSessionsEndpoint: AccountEndpoint {
    static let operation = AccountOperation.endOtherOwnSessions

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let open = try await sessions.open(of: caller.userID, requestID: request.requestID)
        try await sessions.end(
            open.filter { !$0.id.hasSameBytes(as: caller.sessionID) }, askedBy: caller,
            requestID: request.requestID)
        return .done(subject: caller.userID)
    }
}

extension UserSessions {
    /// The user's active sessions.
    fileprivate func open(of userID: String, requestID: String) async throws(Refusal) -> [UserSessionRecord] {
        let stored = try await withRecords(requestID) { try await records.sessions(of: userID) }
        return stored.filter { $0.endedAt == nil && $0.endsAt > now() }
    }
}

extension OwnSession {
    fileprivate init(_ record: UserSessionRecord, isCurrent: Bool) {
        self.init(
            id: record.id, isCurrent: isCurrent, platform: record.platform, device: record.device,
            signedInAt: record.authTime, lastUsedAt: record.refreshedAt, endsAt: record.endsAt)
    }
}
