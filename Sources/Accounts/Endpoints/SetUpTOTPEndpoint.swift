internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let setUpTOTP = AccountOperation(
        "set-up-totp", .post, "mfa/totp", bearer: .required, budget: .account)
}

/// `POST mfa/totp`: a new key for the user's authenticator app, which is valid once its first code is verified.
struct SetUpTOTPEndpoint: AccountEndpoint {
    static let operation = AccountOperation.setUpTOTP

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let user = try await accounts.user(caller, request)
        let output = try await accounts.call(.associateSoftwareToken, caller.input, for: request, at: .bearer)
        guard let secret = output["SecretCode"]?.stringValue else {
            throw accounts.unusable("UnexpectedAnswer", request)
        }
        let key = AuthenticatorKey(
            secret: secret, account: user.email ?? user.username, issuer: accounts.settings.totpIssuer)
        return AccountAnswer(
            .ok, ["secret": .string(secret), "otpauth_uri": .string(key.uri)], subject: caller.subject)
    }
}
