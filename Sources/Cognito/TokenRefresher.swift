package import Cryptography
package import Encoding
internal import Pipeline
internal import Synchronization

/// Exchanges a provider refresh token for new tokens, with an operation that the pool supports.
///
/// `GetTokensFromRefreshToken` is tried first: it alone works with rotation, and it needs no user name. Pools and
/// emulators without it get `REFRESH_TOKEN_AUTH`, whose SECRET_HASH is computed over the user's real name.
package final class TokenRefresher: Sendable {
    private let client: CognitoClient
    private let app: AppClient
    /// Whether the pool has reported that it does not know the operation. Never reset in the life of the process.
    private let lacksGetTokens = Atomic(false)

    package init(client: CognitoClient, app: AppClient) {
        self.client = client
        self.app = app
    }

    /// - Parameter metadata: `ClientMetadata`, for the pool's triggers.
    package func tokens(
        for token: ProviderRefreshToken, metadata: JSON? = nil
    ) async throws(CognitoError) -> AuthenticationResult {
        guard !lacksGetTokens.load(ordering: .relaxed) else { return try await initiateAuth(token, metadata) }
        do {
            return try await getTokens(token, metadata)
        } catch {
            switch error.kind {
            case .unsupportedOperation:
                lacksGetTokens.store(true, ordering: .relaxed)
            case .invalidParameter:
                // Some emulators mean "no such operation", but the error has other meanings: it is not remembered.
                break
            default:
                throw error
            }
        }
        return try await initiateAuth(token, metadata)
    }

    /// Exchanges a token of an unknown user. `REFRESH_TOKEN_AUTH` is not available without the user name.
    package func tokens(
        forShown token: Secret, deviceKey: String?, metadata: JSON? = nil
    ) async throws(CognitoError) -> AuthenticationResult {
        try await getTokens(ProviderRefreshToken(token, username: "", deviceKey: deviceKey), metadata)
    }

    private func getTokens(
        _ token: ProviderRefreshToken, _ metadata: JSON?
    ) async throws(CognitoError) -> AuthenticationResult {
        var input: JSONObject = [
            "ClientId": .string(app.clientID),
            "RefreshToken": .string(token.value.exposeText()),
        ]
        // The secret itself, not a hash: only this operation and RevokeToken require it so.
        input["ClientSecret"] = app.rawSecret
        input["DeviceKey"] = token.deviceKey.map(JSON.string)
        input["ClientMetadata"] = metadata
        return try result(await client.call(.getTokensFromRefreshToken, input))
    }

    private func initiateAuth(
        _ token: ProviderRefreshToken, _ metadata: JSON?
    ) async throws(CognitoError) -> AuthenticationResult {
        var parameters: JSONObject = ["REFRESH_TOKEN": .string(token.value.exposeText())]
        parameters["SECRET_HASH"] = app.secretHash(token.username)
        parameters["DEVICE_KEY"] = token.deviceKey.map(JSON.string)
        var input: JSONObject = [
            "AuthFlow": "REFRESH_TOKEN_AUTH",
            "ClientId": .string(app.clientID),
            "AuthParameters": .object(parameters),
        ]
        input["ClientMetadata"] = metadata
        return try result(await client.call(.initiateAuth, input))
    }

    private func result(_ output: JSONObject) throws(CognitoError) -> AuthenticationResult {
        guard case .tokens(let result) = AuthenticationAnswer(output) else {
            throw CognitoError(unavailable: "UnexpectedAnswer")
        }
        return result
    }
}

/// A refresh token of a user pool, with the values that a refresh requires.
package struct ProviderRefreshToken: Sendable {
    package let value: Secret
    /// The user's real name in the pool, over which SECRET_HASH is computed.
    package let username: String
    /// nil for a session without a tracked device.
    package let deviceKey: String?

    package init(_ value: Secret, username: String, deviceKey: String?) {
        self.value = value
        self.username = username
        self.deviceKey = deviceKey
    }
}
