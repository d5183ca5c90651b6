package import Cryptography
package import Encoding
package import HTTPClient
package import Pipeline

/// A user pool that direct calls are carried out with.
package struct DirectCognitoPool: Sendable {
    /// Such as `eu-west-1_AbCdEfGhI`.
    package var poolID: String
    /// Cognito's API, such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    package var endpoint: String
    /// Carries the calls.
    package var fetcher: any Fetcher
    /// The `iss` of the pool's tokens. Tokens of other pools are not shown to Cognito.
    package var issuer: String
    /// The app client whose secret the gateway has.
    package var clientID: String
    package var clientSecret: Secret?
    /// Other app clients of the pool that released apps name, as the one from before there was a secret. Their calls
    /// are carried out as ``clientID``'s.
    package var formerClientIDs: Set<String>
    /// Whether Cognito is told the client's address.
    package var propagateClientAddress: Bool
    /// The kinds of name that users may sign in with.
    package var acceptedNames: Set<AccountNameKind>
    /// The attributes that users may set.
    package var writableAttributes: WritableAttributes
    /// The most time one operation may take.
    package var deadline: Duration

    package init(
        poolID: String, endpoint: String, fetcher: any Fetcher, issuer: String, clientID: String, clientSecret: Secret?,
        formerClientIDs: Set<String> = [], propagateClientAddress: Bool = false,
        acceptedNames: Set<AccountNameKind> = [.email], writableAttributes: WritableAttributes = .standard,
        deadline: Duration = .seconds(5)
    ) {
        self.poolID = poolID
        self.endpoint = endpoint
        self.fetcher = fetcher
        self.deadline = deadline
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.formerClientIDs = formerClientIDs
        self.propagateClientAddress = propagateClientAddress
        self.acceptedNames = acceptedNames
        self.writableAttributes = writableAttributes
    }

    /// Whether a call is for this pool: by the app client it names, or the one that its access token is of.
    package func isMeant(by input: JSONObject) -> Bool {
        if let client = input["ClientId"]?.stringValue { return knows(clientID: client) }
        guard let token = input["AccessToken"]?.stringValue else { return false }
        return claims(of: token) != nil
    }

    /// The payload of an access token of this pool and one of its clients here; nil for any other. Its signature is
    /// Cognito's to verify.
    package func claims(of token: String) -> JSONObject? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            let claims = (try? JSON.parse(payload, limits: DirectCognitoTranslation.limits))?.objectValue,
            claims["iss"] == .string(issuer),
            let client = claims["client_id"]?.stringValue, knows(clientID: client)
        else { return nil }
        return claims
    }

    func knows(clientID: String) -> Bool {
        clientID.hasSameBytes(as: self.clientID) || clientID.isOne(of: formerClientIDs)
    }
}
