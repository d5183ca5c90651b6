internal import Cryptography

/// The configuration of a local pool: its address, app clients, rules and lifetimes, and its initial users.
package struct LocalPoolConfiguration: Sendable {
    package var host = "127.0.0.1"
    /// 0 lets the system choose a port.
    package var port = 9229
    /// The base URL for clients, without a trailing slash; nil: `http://<host>:<port>`. The `iss` of tokens is this
    /// URL, a slash and the pool's id.
    package var endpoint: String?
    package var region = "us-east-1"
    package var poolID: String
    /// At least one.
    package var clients: [Client]
    /// The credentials of the administrator, who may call the `Admin*` operations; nil: nobody may.
    var administrator: SignatureVersion4.Credentials?
    /// A path, or `:memory:`.
    var databasePath: String
    /// The rule for user names.
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
    /// The first factors of USER_AUTH, and the challenges of CUSTOM_AUTH.
    package var passwordless = Passwordless()
    package var devices = DeviceTracking.off
    /// Cognito's AttributesRequireVerificationBeforeUpdate: `email`, `phone_number` or both.
    var verifiesBeforeUpdate: Set<String> = []
    /// Cognito's PreventUserExistenceErrors: `ENABLED` when true, `LEGACY` when false.
    var preventsUserExistenceErrors = true
    /// Whether GetTokensFromRefreshToken exists; if false, it gets the response for an unknown operation.
    var hasGetTokensFromRefreshToken = true
    /// Whether five wrong passwords block sign-in temporarily.
    var hasLockout = true
    /// Whether codes and password changes are limited per user and hour.
    var hasHourlyLimits = true
    /// The triggers that refuse.
    package var triggers: [Trigger: TriggerRefusal] = [:]
    /// Groups that exist from the start, besides those of the users.
    var groups: [String] = []
    package var users: [SeededUser] = []
    package var identityProviders: [IdentityProvider] = []
    /// The local Apple; nil: none.
    package var apple: Apple?

    package init(poolID: String, clients: [Client], databasePath: String) {
        self.poolID = poolID
        self.clients = clients
        self.databasePath = databasePath
    }
}
