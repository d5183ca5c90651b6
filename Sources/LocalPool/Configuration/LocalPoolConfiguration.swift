internal import Cryptography

/// The configuration of a local pool: its address, app clients, rules and lifetimes, and the users it starts with.
package struct LocalPoolConfiguration: Sendable {
    package var host = "127.0.0.1"
    /// 0 lets the system choose a port.
    package var port = 9229
    /// The base URL clients use, without a trailing slash; `http://<host>:<port>` when nil. Tokens' `iss` is this, a
    /// slash and the pool's id.
    package var endpoint: String?
    package var region = "us-east-1"
    package var poolID: String
    /// One at least.
    package var clients: [Client]
    /// The administrator, who may call the `Admin*` operations; no one when nil.
    var administrator: SignatureVersion4.Credentials?
    /// A path, or `:memory:`.
    var databasePath: String
    /// The names that users have.
    package var naming = NamingRule()
    package var schema = AttributeSchema()
    /// AllowAdminCreateUserOnly: whether SignUp is refused.
    package var onlyAdministratorsCreateUsers = false
    package var lifetimes = Lifetimes()
    package var rotation = Rotation()
    package var passwords = PasswordRule()
    /// The cost of a password's hash: the base-2 logarithm of scrypt's N.
    var passwordCost: UInt64 = 15
    package var mfa = MFA()
    /// The ways to sign in with USER_AUTH, and CUSTOM_AUTH's challenges.
    package var passwordless = Passwordless()
    package var devices = DeviceTracking.off
    /// Cognito's AttributesRequireVerificationBeforeUpdate: `email`, `phone_number` or both.
    var verifiesBeforeUpdate: Set<String> = []
    /// Cognito's PreventUserExistenceErrors: `ENABLED` when true, `LEGACY` when false.
    var preventsUserExistenceErrors = true
    /// When false GetTokensFromRefreshToken is answered as an operation that does not exist.
    var hasGetTokensFromRefreshToken = true
    /// Whether sign-in is blocked for a while after five wrong passwords.
    var hasLockout = true
    /// Whether codes and changes of the password are limited per user and hour.
    var hasHourlyLimits = true
    /// The triggers that refuse.
    package var triggers: [Trigger: TriggerRefusal] = [:]
    /// Groups that are there from the start, beside those of the users.
    var groups: [String] = []
    package var users: [SeededUser] = []
    package var identityProviders: [IdentityProvider] = []
    /// The local Apple; nil for none.
    package var apple: Apple?

    package init(poolID: String, clients: [Client], databasePath: String) {
        self.poolID = poolID
        self.clients = clients
        self.databasePath = databasePath
    }
}
