internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let verifyTOTP = AccountOperation(
        "verify-totp", .post, "mfa/totp/verify", bearer: .required, budget: .account,
        effect: .secondFactorsChanged)
}

/// `POST mfa/totp/verify`: verifies the authenticator app's first code; a code is then required at sign-in.
struct VerifyTOTPEndpoint: AccountEndpoint {
    static let operation = AccountOperation.verifyTOTP

    private let code: Secret
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        code = Secret(fields.requiredText("code", atMost: 6, .code))
        try fields.check()
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = caller.input
        input["UserCode"] = .string(code.exposeText())
        let output = try await accounts.call(.verifySoftwareToken, input, for: request, at: .bearer)
        guard output["Status"] == "SUCCESS" else { throw Refusal(.codeMismatch, reason: .cognito(.codeMismatch)) }
        try await accounts.setTOTP(isEnabled: true, caller, request)
        return .done(subject: caller.subject)
    }
}
