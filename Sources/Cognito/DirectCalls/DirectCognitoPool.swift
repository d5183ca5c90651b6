package import Cryptography
package import Encoding
package import HTTPClient
package import Pipeline

/// A user pool that direct calls are carried out with.
package struct DirectCognitoPool: Sendable {
    /// Of these the pool, its app client, the names and attributes of its users and the deadline count here.
    package let settings: CognitoSignInSettings
    /// Carries the calls.
    package let fetcher: any Fetcher
    /// Other app clients of the pool that released apps name, as the one from before there was a secret. Their calls
    /// are carried out as the settings' client's.
    package let formerClientIDs: Set<String>
    /// Verifies an access token of the pool and of one of its clients here, by the pool's keys.
    package let verify: TokenVerification

    /// - Returns: ``Verdict/needsKeys(issuerIndex:keyID:)`` where the keys cannot be had.
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

    /// Whether a call is for this pool: by the app client it names, or the one that its access token is of.
    package func isMeant(by input: JSONObject) -> Bool {
        if let client = input["ClientId"]?.stringValue { return knows(clientID: client) }
        guard let token = input["AccessToken"]?.stringValue else { return false }
        return claims(of: token) != nil
    }

    /// The payload of an access token of this pool and one of its clients here; nil for any other. It proves nothing
    /// before ``verify`` has judged the token.
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
