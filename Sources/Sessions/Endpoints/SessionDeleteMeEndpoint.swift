internal import Accounts
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    static let sessionDeleteMe = AccountOperation(
        "session-delete-me", .delete, "me", bearer: .required, budget: .account, effect: .userDeleted,
        metricsName: "delete-me")
}

/// `DELETE me`: ends the user's other sessions, deletes all stored data about the user, and then ends the caller's own
/// session. Each step can be repeated with the same token until the last one is done.
struct SessionDeleteMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionDeleteMe

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
        call.session = caller.session
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let stored = try await sessions.withRecords(request.requestID) {
            try await sessions.records.sessions(of: caller.userID)
        }
        // Before the records are deleted: without them, the tokens of other devices would stay valid if this process
        // ended here.
        try await sessions.endOthers(than: caller, of: stored, request.requestID)
        try await endpoints.forget(caller.userID, requestID: request.requestID)
        var answer = AccountAnswer.done(subject: caller.userID)
        answer.lastStep = { () async throws(Refusal) in
            try await sessions.revokeForever(caller.userID, meaning: stored, request.requestID)
        }
        return answer
    }
}
