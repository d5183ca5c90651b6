package import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let appleNonce = AccountOperation("apple-nonce", .post, "apple/nonce", budget: .signIn)
}

/// `POST apple/nonce`: issues a nonce for one sign-in with Apple.
struct AppleNonceEndpoint: AccountEndpoint {
    static let operation = AccountOperation.appleNonce

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let nonce = try endpoints.apple.makeNonce(requestID: request.requestID)
        return AccountAnswer(
            .ok,
            [
                "nonce": .string(nonce.exposeText()),
                "expires_in": .number(JSONNumber(endpoints.apple.settings.serverNonceLifetime)),
            ])
    }
}
