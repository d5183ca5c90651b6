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
        var input = caller.input
        input["PreviousPassword"] = .string(body.currentPassword.exposeText())
        input["ProposedPassword"] = .string(body.newPassword.exposeText())
        _ = try await call(.changePassword, input, for: request, at: .passwordChange)
        return .done(subject: caller.subject)
    }
}
