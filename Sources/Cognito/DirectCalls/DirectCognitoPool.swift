package import Cryptography
package import Encoding
package import HTTPClient
package import Pipeline

/// A user pool for direct calls.
package struct DirectCognitoPool: Sendable {
    /// Direct calls use the pool with its endpoint and hosted domain, the app client, the users' names and attributes,
    /// the accepted client metadata, the propagation of client addresses, and the deadline.
    package let settings: CognitoSignInSettings
    /// Sends the calls.
    package let fetcher: any Fetcher
    /// The IDs of other app clients of the pool that released apps use, such as one from before the client had a
    /// secret. Their calls are sent as calls of the configured client.
    package let formerClientIDs: Set<String>
    /// Verifies an access token of the pool and one of its known clients against the pool's keys.
    package let verify: TokenVerification

    /// - Returns: ``Verdict/needsKeys(issuerIndex:keyID:)`` if the keys are not available.
    package typealias TokenVerification = @Sendable (_ token: Secret) async -> Verdict

    package init(
        settings: CognitoSignInSettings, fetcher: any Fetcher, formerClientIDs: Set<String> = [],
        verify: @escaping TokenVerification
    ) {
        self.settings = settings
        self.fetcher = fetcher
        self.formerClientIDs = formerClientIDs
        self.verify = verify
    }

    /// Returns whether a call is for this pool, by its app client's ID or by the client of its access token.
    package func isMeant(by input: JSONObject) -> Bool {
        if let client = input["ClientId"]?.stringValue { return knows(clientID: client) }
        guard let token = input["AccessToken"]?.stringValue else { return false }
        return claims(of: token) != nil
    }

    /// Decodes the payload of an access token of this pool and one of its known clients; nil for any other. The claims
    /// prove nothing until ``verify`` has accepted the token.
    package func claims(of token: String) -> JSONObject? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            let claims = (try? JSON.parse(payload, limits: DirectCognitoTranslation.limits))?.objectValue,
            claims["iss"] == .string(settings.issuer),
            let client = claims["client_id"]?.stringValue, knows(clientID: client)
        else { return nil }
        return claims
    }

    package func knows(clientID: String) -> Bool {
        clientID.hasSameBytes(as: settings.clientID) || clientID.isOne(of: formerClientIDs)
    }
}
