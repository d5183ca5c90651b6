internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let registerPasskey = AccountOperation(
        "register-passkey", .post, "me/passkeys", bearer: .required, budget: .account,
        effect: .passkeyRegistered)
}

/// `POST me/passkeys`: CompleteWebAuthnRegistration, with the authenticator's response to the options.
struct RegisterPasskeyEndpoint: AccountEndpoint {
    static let operation = AccountOperation.registerPasskey

    private let caller: Caller
    private let credential: JSONObject

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.passkeyCaller(request)
        var fields = try request.fields()
        credential = fields.requiredObject("credential") ?? [:]
        try fields.check()
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = caller.input
        input["Credential"] = .object(credential)
        _ = try await accounts.call(.completeWebAuthnRegistration, input, for: request, at: .passkey)
        return .done(subject: caller.subject)
    }
}
