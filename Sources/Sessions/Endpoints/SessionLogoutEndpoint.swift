internal import Accounts
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let sessionLogout = AccountOperation(
        "session-logout", .post, "logout", bearer: .judged, budget: .account, effect: .signedOut,
        metricsName: "logout")
}

/// `POST logout`: this session, or all of the user's. Over others only the newest token of a session has a say, or the
/// one before within the window: else whoever keeps an old one could sign the user out at will.
struct SessionLogoutEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionLogout

    private let isEverywhere: Bool
    /// Nil for one who is signed out already.
    private let caller: SessionCaller?
    /// One whose sign-out may not be complete.
    private let revoked: SessionCaller?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        var fields = request.body.isEmpty ? RequestFields([:]) : try request.fields()
        isEverywhere = fields.flag("all_devices", default: false)
        try fields.check()
        let sessions = try endpoints.ownSessions()
        caller = try sessions.judgeLeaving(request.bearer)
        revoked = caller == nil ? sessions.revokedCaller(request.bearer) : nil
        call.subject = caller?.userID
        call.session = caller?.session
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard let caller else {
            if let revoked {
                try await endpoints.ownSessions().finishEnd(
                    of: revoked, everywhere: isEverywhere, requestID: request.requestID)
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
