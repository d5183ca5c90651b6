internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let forgotPassword = AccountOperation("forgot-password", .post, budget: .messages)
}

/// `POST forgot-password`: ForgotPassword.
struct ForgotPasswordEndpoint: AccountEndpoint {
    static let operation = AccountOperation.forgotPassword

    private let email: String
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        email = fields.accountName(accounts.settings.nameFields).text
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        call.account = email
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        try await accounts.sendCode(.forgotPassword, to: email, metadata, request)
    }
}
