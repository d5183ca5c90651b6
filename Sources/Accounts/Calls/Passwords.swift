internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `POST reset-password`: ConfirmForgotPassword.
    func resetPassword(_ body: ResetPasswordBody, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        var input = app.input(username: cognitoName(body.email))
        input["ConfirmationCode"] = .string(body.code.exposeText())
        input["Password"] = .string(body.newPassword.exposeText())
        input["UserContextData"] = userContext(request)
        _ = try await call(.confirmForgotPassword, input, for: request, at: .code)
        return .done()
    }

    /// `POST change-password`: ChangePassword.
    func changePassword(
        _ body: ChangePasswordBody, _ caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        do {
            try await change(body.currentPassword, to: body.newPassword, caller)
        } catch {
            try await checkMade(body, caller, after: error, request)
        }
        return .done(subject: caller.subject)
    }

    private func change(_ current: Secret, to new: Secret, _ caller: Caller) async throws(CognitoError) {
        var input = caller.input
        input["PreviousPassword"] = .string(current.exposeText())
        input["ProposedPassword"] = .string(new.exposeText())
        _ = try await client.call(.changePassword, input)
    }

    /// Where the response to the same call was lost before, a current password that Cognito no longer takes may mean that
    /// the change was made: then the new one can be changed into itself.
    ///
    /// - Throws: the refusal, unless the change was made.
    private func checkMade(
        _ body: ChangePasswordBody, _ caller: Caller, after error: CognitoError, _ request: AccountRequest
    ) async throws(Refusal) {
        var error = error
        if unansweredChanges.remove(body, of: caller.subject), error.kind == .badCredentials {
            do {
                return try await change(body.newPassword, to: body.newPassword, caller)
            } catch let second {
                if second.kind == .unavailable { error = second }
            }
        }
        if error.kind == .unavailable { unansweredChanges.note(body, of: caller.subject) }
        throw refusal(of: error, at: .passwordChange, request)
    }
}
