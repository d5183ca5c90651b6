internal import Cryptography
internal import Encoding
internal import Synchronization

/// Exchanges a provider refresh token for new tokens, by the operation that the pool has.
///
/// `GetTokensFromRefreshToken` comes first: it is the only one that works with rotation, and needs no user name.
/// Pools and emulators without it get `REFRESH_TOKEN_AUTH`, whose SECRET_HASH must be over the user's real name.
final class TokenRefresher: Sendable {
    private let client: CognitoClient
    private let app: AppClient
    /// Set once the pool has said that it does not know the operation, for the life of the process.
    private let lacksGetTokens = Atomic(false)

    init(client: CognitoClient, app: AppClient) {
        self.client = client
        self.app = app
    }

    func tokens(for sealed: SealedRefreshToken) async throws(CognitoError) -> AuthenticationResult {
        guard !lacksGetTokens.load(ordering: .relaxed) else { return try await initiateAuth(sealed) }
        do {
            return try await getTokens(sealed)
        } catch {
            switch error.kind {
            case .unsupportedOperation:
                lacksGetTokens.store(true, ordering: .relaxed)
            case .invalidParameter:
                // Says "no such operation" in some emulators, but can mean other things: not remembered.
                break
            default:
                throw error
            }
        }
        return try await initiateAuth(sealed)
    }

    private func getTokens(_ sealed: SealedRefreshToken) async throws(CognitoError) -> AuthenticationResult {
        var input: JSONObject = [
            "ClientId": .string(app.clientID),
            "RefreshToken": .string(sealed.refreshToken.exposeText()),
        ]
        // The secret itself, not a hash: the one operation beside RevokeToken that wants it so.
        input["ClientSecret"] = app.rawSecret
        input["DeviceKey"] = sealed.deviceKey.map(JSON.string)
        return try result(await client.call(.getTokensFromRefreshToken, input))
    }

    private func initiateAuth(_ sealed: SealedRefreshToken) async throws(CognitoError) -> AuthenticationResult {
        var parameters: JSONObject = ["REFRESH_TOKEN": .string(sealed.refreshToken.exposeText())]
        parameters["SECRET_HASH"] = app.secretHash(sealed.username)
        parameters["DEVICE_KEY"] = sealed.deviceKey.map(JSON.string)
        let input: JSONObject = [
            "AuthFlow": "REFRESH_TOKEN_AUTH",
            "ClientId": .string(app.clientID),
            "AuthParameters": .object(parameters),
        ]
        return try result(await client.call(.initiateAuth, input))
    }

    private func result(_ output: JSONObject) throws(CognitoError) -> AuthenticationResult {
        guard case .tokens(let result) = AuthenticationAnswer(output) else {
            throw CognitoError(unavailable: "UnexpectedAnswer")
        }
        return result
    }
}
