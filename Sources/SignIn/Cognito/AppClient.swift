internal import Cryptography
internal import Encoding

/// An app client of a pool, and how it proves to Cognito that it is one.
struct AppClient: Sendable {
    var poolID: String
    var clientID: String
    /// `nil` for an app client that has none.
    var clientSecret: Secret?

    /// `SECRET_HASH` for a call that sends this user name; `nil` without a secret.
    func secretHash(_ username: String) -> JSON? {
        clientSecret.map { .string(SignIn.secretHash(username: username, clientID: clientID, clientSecret: $0)) }
    }

    /// The secret itself, for the two operations that want it so; `nil` without one.
    var rawSecret: JSON? { clientSecret.map { .string($0.exposeText()) } }

    /// The input of an operation that names a user: `ClientId`, `Username` and `SecretHash`.
    func input(username: String) -> JSONObject {
        var input: JSONObject = ["ClientId": .string(clientID), "Username": .string(username)]
        input["SecretHash"] = secretHash(username)
        return input
    }
}
