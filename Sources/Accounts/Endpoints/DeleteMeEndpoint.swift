internal import Cognito
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let deleteMe = AccountOperation(
        "delete-me", .delete, "me", bearer: .required, budget: .account, effect: .userDeleted)
}

/// `DELETE me`: deletes the user at Cognito first, so that nothing here is deleted of a user who still exists; then
/// ends every session and token.
///
/// Until the last step is done, each can be repeated with the same access token. A user who is unknown to Cognito is
/// deleted: an earlier attempt's response may have been lost.
struct DeleteMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.deleteMe

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
        call.session = CalledSession(caller.identity)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        do {
            _ = try await accounts.client.call(.deleteUser, caller.input)
        } catch {
            guard error.kind == .userNotFound else { throw accounts.refusal(of: error, at: .bearer, request) }
        }
        // Before the records: without these nobody would end the tokens of other devices if this process ended here.
        if let own = caller.originID {
            let others = Revocation.Target.otherSignIns(
                caller.subject, before: accounts.revocationTime(), sparing: own)
            try await accounts.revoke([others], request)
        }
        try await accounts.withRecords(request) { try await accounts.sessions.forget(caller.subject) }
        var answer = AccountAnswer.done(subject: caller.subject)
        // The same name, registered again, has another subject: all tokens of this one stay revoked for ever.
        answer.lastStep = { () async throws(Refusal) in
            try await accounts.revoke([.subject(caller.subject, before: .max)], request)
        }
        return answer
    }
}
