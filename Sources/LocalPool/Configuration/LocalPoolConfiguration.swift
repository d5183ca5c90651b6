package import Cryptography

/// What a local pool is: where it listens, its one app client, its lifetimes and the users it starts with.
package struct LocalPoolConfiguration: Sendable {
    /// A user who is there from the first start. The configuration wins over what is stored, at every start.
    package struct SeededUser: Sendable {
        package var email: String
        package var password: Secret
        /// The user's UUID; random, and kept, when nil.
        package var sub: String?
        package var groups: [String]
        /// Further attributes by Cognito's names, such as `name` or `custom:tier`.
        package var attributes: [String: String]
        package var isConfirmed: Bool

        package init(
            email: String, password: Secret, sub: String? = nil, groups: [String] = [],
            attributes: [String: String] = [:], isConfirmed: Bool = true
        ) {
            self.email = email
            self.password = password
            self.sub = sub
            self.groups = groups
            self.attributes = attributes
            self.isConfirmed = isConfirmed
        }
    }

    /// How long things last, in seconds.
    package struct Lifetimes: Sendable {
        package var accessToken: Int64 = 3600
        package var idToken: Int64 = 3600
        package var refreshToken: Int64 = 30 * 86_400
        /// Of the code that confirms a sign-up.
        package var confirmationCode: Int64 = 86_400

        package init() {}
    }

    /// Cognito's RefreshTokenRotation.
    package struct Rotation: Sendable {
        package var isEnabled = false
        /// How long, in seconds, a replaced token is still good for a retry; 0 to 60.
        package var retryGrace: Int64 = 0

        package init() {}
    }

    package var host = "127.0.0.1"
    /// 0 lets the system choose a port.
    package var port = 9229
    /// The base URL clients use, without a trailing slash; `http://<host>:<port>` when nil. Tokens' `iss` is this, a
    /// slash and the pool's id.
    package var endpoint: String?
    package var region = "us-east-1"
    package var poolID: String
    package var clientID: String
    package var clientSecret: Secret
    /// A path, or `:memory:`.
    package var databasePath: String
    package var lifetimes = Lifetimes()
    package var rotation = Rotation()
    /// Cognito's PreventUserExistenceErrors: `ENABLED` when true, `LEGACY` when false.
    package var preventsUserExistenceErrors = true
    /// When false GetTokensFromRefreshToken is answered as an operation that does not exist.
    package var hasGetTokensFromRefreshToken = true
    /// Whether sign-in is blocked for a while after five wrong passwords.
    package var hasLockout = true
    package var users: [SeededUser] = []

    package init(poolID: String, clientID: String, clientSecret: Secret, databasePath: String) {
        self.poolID = poolID
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.databasePath = databasePath
    }
}
