internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let confirm = AccountOperation(
        "confirm", .post, budget: .codes, effect: .confirmed,
        usualErrors: [.codeMismatch, .codeExpired, .usernameExists])
}

/// `POST confirm`: ConfirmSignUp. A sign-in that follows is a separate call.
struct ConfirmEndpoint: AccountEndpoint {
    static let operation = AccountOperation.confirm

    private let email: String
    private let code: Secret
    /// If present, the user is signed in at once.
    private let password: Secret?
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        email = fields.accountName(accounts.settings.registeredNameFields).text
        code = Secret(fields.requiredText("code", atMost: 128, .code))
        password = fields.optionalFilledText("password", atMost: 256, .password).map { Secret($0) }
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        call.account = email
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = accounts.app.input(username: accounts.registeredName(email))
        input["ConfirmationCode"] = .string(code.exposeText())
        input["UserContextData"] = accounts.userContext(request)
        input["ClientMetadata"] = metadata
        _ = try await accounts.call(.confirmSignUp, input, for: request, at: .code)
        var answer = AccountAnswer.done()
        if let password {
            answer.next = { () async throws(Refusal) in
                try await accounts.signIn(email, password, metadata, after: request)
            }
        }
        return answer
    }
}

extension CognitoAccounts {
    fileprivate func signIn(
        _ email: String, _ password: Secret, _ metadata: JSON?, after request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        var request = request
        request.operation = .login
        let call = AccountCall(request, poolID: settings.poolID)
        return try await flow.run(call) { call throws(Refusal) in
            LoginEndpoint(email: email, password: password, metadata: metadata, &call)
        } perform: { [request] login, admission throws(Refusal) in
            try await login.perform(self, request, &admission)
        }
    }
}
