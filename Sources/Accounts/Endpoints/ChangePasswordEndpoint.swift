internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let changePassword = AccountOperation(
        "change-password", .post, bearer: .required, budget: .account, effect: .passwordChanged,
        usualErrors: [.badCredentials, .invalidPassword])
}

/// `POST change-password`: ChangePassword. The user's other sessions end.
struct ChangePasswordEndpoint: AccountEndpoint {
    static let operation = AccountOperation.changePassword

    private let change: PasswordChange
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        change = PasswordChange(
            current: Secret(fields.requiredText("current_password", atMost: 256, .password)),
            new: Secret(fields.requiredText("new_password", atMost: 256, .password)))
        try fields.check()
        caller = try accounts.caller(request)
        call.guess = PasswordGuess(by: caller.identity)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let stored = try await accounts.storeChange(of: caller.subject, sparing: caller.originID, request)
        // The change was made but the other sessions could not be ended: only that remains.
        let isMade = accounts.unansweredChanges.remove(change, of: "made/\(caller.subject)")
        if !isMade { try await make(accounts, stored, request) }
        do {
            try await accounts.endSessions(of: caller.subject, sparing: caller.originID, request)
        } catch {
            accounts.unansweredChanges.note(change, of: "made/\(caller.subject)")
            accounts.leave(stored)
            throw error
        }
        await accounts.finish(stored)
        return .done(subject: caller.subject)
    }

    private func make(
        _ accounts: CognitoAccounts, _ stored: CognitoAccounts.StoredChange?, _ request: AccountRequest
    ) async throws(Refusal) {
        do throws(Refusal) {
            try await make(accounts, request)
        } catch {
            // If the response was lost, Cognito may have made the change: the sessions end in any case.
            if error.reason == .cognito(.unavailable) { accounts.leave(stored) } else { await accounts.finish(stored) }
            throw error
        }
    }

    private func make(_ accounts: CognitoAccounts, _ request: AccountRequest) async throws(Refusal) {
        do {
            try await accounts.change(change.current, to: change.new, caller)
        } catch {
            try await checkMade(after: error, accounts, request)
        }
        accounts.unansweredChanges.remove(change, of: caller.subject)
    }

    /// Checks whether the change was made. If the response to the same call was lost before, Cognito's refusal of the
    /// current password may mean that: then the new password can be changed into itself.
    ///
    /// - Throws: the refusal, unless the change was made.
    private func checkMade(
        after error: CognitoError, _ accounts: CognitoAccounts, _ request: AccountRequest
    ) async throws(Refusal) {
        var error = error
        if error.kind == .badCredentials, accounts.unansweredChanges.contains(change, of: caller.subject) {
            do {
                return try await accounts.change(change.new, to: change.new, caller)
            } catch let second {
                // The password is right: a pool that checks the history first would have reported that in the first
                // call.
                if ExactText(second.type) == "PasswordHistoryPolicyViolationException" { return }
                if second.kind == .badCredentials {
                    accounts.unansweredChanges.remove(change, of: caller.subject)
                } else {
                    error = second
                }
            }
        }
        if error.kind == .unavailable { accounts.unansweredChanges.note(change, of: caller.subject) }
        throw accounts.refusal(of: error, at: .passwordChange, request)
    }
}

/// A password change; for a reset, `current` is the code.
struct PasswordChange: Sendable {
    var current: Secret
    var new: Secret
}

extension CognitoAccounts {
    fileprivate func change(_ current: Secret, to new: Secret, _ caller: Caller) async throws(CognitoError) {
        var input = caller.input
        input["PreviousPassword"] = .string(current.exposeText())
        input["ProposedPassword"] = .string(new.exposeText())
        _ = try await client.call(.changePassword, input)
    }
}
