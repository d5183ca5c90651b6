internal import Cognito
internal import Encoding
internal import Pipeline

/// An app client whose refresh tokens the gateway stores.
struct TokenClient: Sendable {
    let app: AppClient
    let refresher: TokenRefresher
}

extension CognitoAccounts {
    /// Returns the gateway's own client, and those whose sessions it takes over, which have no secret.
    static func tokenClients(
        _ settings: CognitoSignInSettings, _ own: TokenClient, _ client: CognitoClient
    ) -> [TokenClient] {
        let listed = settings.sessionTakeover?.clientIDs ?? []
        let others = listed.filter { !$0.hasSameBytes(as: settings.clientID) }
        return [own]
            + others.map { clientID in
                let app = AppClient(poolID: settings.poolID, clientID: clientID)
                return TokenClient(app: app, refresher: TokenRefresher(client: client, app: app))
            }
    }

    /// Returns the client of the provider token in a sealed token; nil if it is no longer configured.
    func tokenClient(_ clientID: String) -> TokenClient? {
        tokenClients.first { $0.app.clientID.hasSameBytes(as: clientID) }
    }

    /// As ``tokenClient(_:)``, for all configured app clients of the pool.
    func poolClient(_ clientID: String) -> AppClient? { tokenClient(clientID)?.app ?? siblings.app(clientID) }

    /// - Throws: 401 for a token of a client that is no longer configured.
    func refresher(for sealed: SealedRefreshToken) throws(Refusal) -> TokenRefresher {
        guard let client = tokenClient(sealed.clientID) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.invalidRefreshToken))
        }
        return client.refresher
    }
}
