internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let resendCode = AccountOperation("resend-code", .post, budget: .messages)
}

/// `POST resend-code`: ResendConfirmationCode.
struct ResendCodeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.resendCode

    private let email: String
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        email = fields.accountName(accounts.settings.registeredNameFields).text
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        call.account = email
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        try await accounts.sendCode(.resendConfirmationCode, to: email, metadata, request)
    }
}
