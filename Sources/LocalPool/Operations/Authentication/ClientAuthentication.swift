internal import Cryptography
internal import Encoding

/// The authentication of an app client: its id, and its secret either in a hash or in plain text. A client without a
/// secret is public and does not authenticate.
struct ClientAuthentication: Sendable {
    let clientID: String
    let secret: Secret?
    /// Cognito's ExplicitAuthFlows.
    var flows: Set<String> = LocalPoolConfiguration.Client.allFlows
    /// Cognito's WriteAttributes; nil for every attribute.
    var writeAttributes: [String]?
    /// Cognito's ReadAttributes; nil for every attribute.
    var readAttributes: [String]?

    init(clientID: String, secret: Secret?) {
        self.clientID = clientID
        self.secret = secret
    }

    init(_ client: LocalPoolConfiguration.Client) {
        self.init(clientID: client.id, secret: client.secret)
        flows = client.flows
        writeAttributes = client.writeAttributes
        readAttributes = client.readAttributes
    }

    /// Whether the client may read the attribute; the `sub` is in every token.
    func reads(_ name: String) -> Bool { name == "sub" || readAttributes?.contains(name) != false }

    /// Checks whether the client may write the attribute. All clients may write the e-mail address, the pool's user
    /// name.
    func checkWriting(_ name: String) throws(PoolError) {
        guard let writeAttributes, name != "email", !writeAttributes.contains(name) else { return }
        throw .unauthorizedAttribute
    }

    /// Checks `hash` against the user name of the request, exactly as it was sent.
    func checkSecretHash(_ hash: String?, username: String) throws(PoolError) {
        guard let hash = try received(hash) else { return }
        guard matches(hash, username: username) else {
            throw .notAuthorized("Unable to verify secret hash for client \(clientID)")
        }
    }

    /// Checks the hash of a refresh, which has no user name: Cognito uses the user's real one (the `sub` in a pool
    /// whose users sign in with their e-mail address), not the name that was entered at sign-in.
    func checkRefreshSecretHash(_ hash: String?, realUsername: String) throws(PoolError) {
        guard let hash = try received(hash) else { return }
        guard matches(hash, username: realUsername) else {
            throw .notAuthorized("SecretHash does not match for the client: \(clientID)")
        }
    }

    /// Checks the client secret itself, as GetTokensFromRefreshToken requires it.
    func checkSecret(_ given: String?) throws(PoolError) {
        guard let secret else { return }
        guard let given else {
            throw .notAuthorized("Client \(clientID) is configured for secret but secret was not received")
        }
        guard constantTimeEquals(Array(given.utf8), secret.expose()) else {
            throw .notAuthorized("Unable to verify secret hash for client \(clientID)")
        }
    }

    /// `base64(HMAC-SHA256(key: client secret, message: user name ‖ client id))`.
    func secretHash(username: String) -> String {
        Base64.encode(
            HMACSHA256.authenticationCode(for: Array((username + clientID).utf8), key: secret?.expose() ?? []))
    }

    /// The hash, which is required from a client with a secret and forbidden for others; nil for a client without a
    /// secret.
    ///
    /// AWS does not document the error for a client without one. Reports of developers who met it agree:
    /// github.com/pmill/aws-cognito/pull/23, pastebin.com/juYYVtBx.
    func received(_ hash: String?) throws(PoolError) -> String? {
        guard secret != nil else {
            guard hash == nil else {
                throw .invalidParameter(
                    "App client \(clientID) is not configured for secret but secret hash was received")
            }
            return nil
        }
        guard let hash else {
            throw .notAuthorized("Client \(clientID) is configured with secret but SECRET_HASH was not received")
        }
        return hash
    }

    private func matches(_ hash: String, username: String) -> Bool {
        constantTimeEquals(Array(hash.utf8), Array(secretHash(username: username).utf8))
    }
}
