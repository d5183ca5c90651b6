internal import Accounts
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let sessionLogout = AccountOperation(
        "session-logout", .post, "logout", bearer: .judged, budget: .account, effect: .signedOut,
        metricsName: "logout")
}

/// `POST logout`: ends this session, or all of the user's. Only a session's newest token, or the previous one within
/// the retry window, may end the others: otherwise anyone with an old token could sign the user out at will.
struct SessionLogoutEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionLogout

    private let isEverywhere: Bool
    /// The caller; nil if the token is revoked, or too old to be refreshed.
    private let caller: SessionCaller?
    /// A caller whose token is revoked and whose sign-out may be incomplete.
    private let revoked: SessionCaller?
    /// A caller whose token is too old to be refreshed. A newer token of the session may still be valid.
    private let expired: SessionCaller?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        var fields = request.body.isEmpty ? RequestFields([:]) : try request.fields()
        isEverywhere = fields.flag("all_devices", default: false)
        try fields.check()
        let sessions = try endpoints.ownSessions()
        caller = try sessions.judgeLeaving(request.bearer)
        revoked = caller == nil ? sessions.revokedCaller(request.bearer) : nil
        expired = caller == nil && revoked == nil ? request.bearer.flatMap(sessions.caller) : nil
        let leaving = caller ?? (isEverywhere ? nil : expired)
        call.subject = leaving?.userID
        call.session = leaving?.session
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard let caller else {
            if let revoked {
                try await endpoints.ownSessions().finishEnd(
                    of: revoked, everywhere: isEverywhere, requestID: request.requestID)
            } else if let expired, !isEverywhere {
                try await endpoints.ownSessions().endIfOpen(expired.sessionID, requestID: request.requestID)
                return .done(subject: expired.userID)
            }
            return .done()
        }
        do throws(Refusal) {
            try await end(caller, endpoints.ownSessions(), request.requestID)
        } catch {
            endpoints.note(error, request, in: &admission.call)
            throw error
        }
        return .done(subject: caller.userID)
    }

    private func end(_ caller: SessionCaller, _ sessions: UserSessions, _ requestID: String) async throws(Refusal) {
        guard isEverywhere else { return try await sessions.end(caller.sessionID, requestID: requestID) }
        guard try await sessions.mayEndOthers(caller, requestID: requestID) else { return }
        _ = try await sessions.endAll(of: caller.userID, also: caller.sessionID, requestID: requestID)
    }
}
