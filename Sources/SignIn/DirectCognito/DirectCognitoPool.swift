package import Cryptography

/// The user pool that direct calls are carried out with.
package struct DirectCognitoPool: Sendable {
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

    package init(
        issuer: String, clientID: String, clientSecret: Secret?, formerClientIDs: Set<String> = [],
        propagateClientAddress: Bool = false
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.formerClientIDs = formerClientIDs
        self.propagateClientAddress = propagateClientAddress
    }

    func knows(clientID: String) -> Bool { clientID == self.clientID || formerClientIDs.contains(clientID) }
}
