package import Cryptography
package import Encoding

/// An app client of a user pool, with the credentials that it authenticates to Cognito with.
package struct AppClient: Sendable {
    var poolID: String
    package var clientID: String
    /// nil for an app client without a secret.
    var clientSecret: Secret?

    package init(poolID: String, clientID: String, clientSecret: Secret? = nil) {
        self.poolID = poolID
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// Returns the `SECRET_HASH` for a call with this user name; nil without a client secret.
    func secretHash(_ username: String) -> JSON? {
        clientSecret.map { .string(Cognito.secretHash(username: username, clientID: clientID, clientSecret: $0)) }
    }

    /// The secret itself, for the two operations that require it unhashed; nil without a client secret.
    package var rawSecret: JSON? { clientSecret.map { .string($0.exposeText()) } }

    /// Returns the common input of operations that name a user: `ClientId`, `Username` and `SecretHash`.
    package func input(username: String) -> JSONObject {
        var input: JSONObject = ["ClientId": .string(clientID), "Username": .string(username)]
        input["SecretHash"] = secretHash(username)
        return input
    }
}
