package import Accounts
internal import Encoding
internal import HTTPTypes
package import Pipeline

extension AccountOperation {
    static let sessionValidate = AccountOperation(
        "session-validate", .post, "validate", bearer: .required, budget: .account, metricsName: "me")
}

/// `POST validate`: the user according to a verified token. The pipeline has already refused revoked tokens.
struct SessionValidateEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionValidate

    private let token: VerifiedToken

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        token = try endpoints.verified(request)
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        endpoints.answer(validating: token)
    }

}

extension SessionEndpoints {
    /// The response that can be given without other services; nil for all other operations.
    package func immediateAnswer(to operation: AccountOperation, by token: VerifiedToken) -> AccountAnswer? {
        operation == .sessionValidate ? answer(validating: token) : nil
    }

    fileprivate func answer(validating token: VerifiedToken) -> AccountAnswer {
        AccountAnswer(
            .ok, ["success": true, "user": .object(apple.settings.shown(token))], subject: token.subject)
    }
}
