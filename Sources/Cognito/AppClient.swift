package import Cryptography
package import Encoding

/// An app client of a pool, and how it proves to Cognito that it is one.
package struct AppClient: Sendable {
    var poolID: String
    package var clientID: String
    /// `nil` for an app client that has none.
    var clientSecret: Secret?

    package init(poolID: String, clientID: String, clientSecret: Secret? = nil) {
        self.poolID = poolID
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// `SECRET_HASH` for a call that sends this user name; `nil` without a secret.
    func secretHash(_ username: String) -> JSON? {
        clientSecret.map { .string(Cognito.secretHash(username: username, clientID: clientID, clientSecret: $0)) }
    }

    /// The secret itself, for the two operations that want it so; `nil` without one.
    package var rawSecret: JSON? { clientSecret.map { .string($0.exposeText()) } }

    /// The input of an operation that names a user: `ClientId`, `Username` and `SecretHash`.
    package func input(username: String) -> JSONObject {
        var input: JSONObject = ["ClientId": .string(clientID), "Username": .string(username)]
        input["SecretHash"] = secretHash(username)
        return input
    }
}
