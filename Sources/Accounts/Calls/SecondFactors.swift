internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `POST mfa/totp`: a new key for the user's authenticator app, good once its first code is verified.
    func setUpTOTP(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let user = try await user(caller, request)
        let output = try await call(.associateSoftwareToken, caller.input, for: request, at: .bearer)
        guard let secret = output["SecretCode"]?.stringValue else { throw unusable("UnexpectedAnswer", request) }
        let key = AuthenticatorKey(
            secret: secret, account: user.email ?? user.username, issuer: settings.totpIssuer)
        return AccountAnswer(
            .ok, ["secret": .string(secret), "otpauth_uri": .string(key.uri)], subject: caller.subject)
    }

    /// `POST mfa/totp/verify`: the app's first code; from now on it is asked for at sign-in.
    func verifyTOTP(
        _ body: VerifyCodeBody, _ caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        var input = caller.input
        input["UserCode"] = .string(body.code.exposeText())
        let output = try await call(.verifySoftwareToken, input, for: request, at: .bearer)
        guard output["Status"] == "SUCCESS" else {
            throw Refusal(.codeMismatch, reason: .cognito(.codeMismatch))
        }
        try await prefer(isEnabled: true, caller, request)
        return .done(subject: caller.subject)
    }

    /// `DELETE mfa/totp`.
    func removeTOTP(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        try await prefer(isEnabled: false, caller, request)
        return .done(subject: caller.subject)
    }

    private func prefer(isEnabled: Bool, _ caller: Caller, _ request: AccountRequest) async throws(Refusal) {
        var input = caller.input
        input["SoftwareTokenMfaSettings"] = ["Enabled": .bool(isEnabled), "PreferredMfa": .bool(isEnabled)]
        _ = try await call(.setUserMFAPreference, input, for: request, at: .bearer)
    }
}
