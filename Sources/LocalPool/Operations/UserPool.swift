internal import Cryptography
package import Encoding
internal import FoundationEssentials
package import Logging
internal import NIOPosix
internal import Store

/// A Cognito user pool with its app clients: it turns requests into responses and keeps its state in a ``Store``.
///
/// Users sign in with their e-mail address, and their real user name is their `sub`, unless the naming rule says
/// otherwise. Each operation is one function from the request's JSON to the response's, in a file with related ones.
/// Clock and randomness are parameters.
package struct UserPool: Sendable {
    let configuration: LocalPoolConfiguration
    let registry: ClientRegistry
    let factorSettings: FactorSettings
    let store: Store
    let keys: KeyRing
    let passwords: PasswordHashing
    let policy: PasswordPolicy
    /// A hash to compare with if the user is unknown, so that the response takes the same time.
    let decoyHash: String
    /// The key from which the fake salts and names of unknown users are derived.
    let pretenceKey: Secret
    let logger: Logger
    package let clock: PoolClock
    let random: @Sendable (Int) -> [UInt8]
    /// The base URL in the `iss` of tokens, without a trailing slash.
    package var endpoint: String

    /// Opens the pool's database, generates missing keys, and stores the configured users.
    ///
    /// Takes about 50 ms for each configured user and blocks the calling thread.
    ///
    /// - Parameters:
    ///   - clock: returns the seconds since 1970.
    ///   - random: returns the requested number of random bytes.
    /// - Throws: errors of the database, the keys or the password hash.
    package init(
        configuration: LocalPoolConfiguration, logger: Logger,
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) },
        random: @escaping @Sendable (Int) -> [UInt8] = { SecureRandom.bytes($0) }
    ) throws {
        let store = try Store(path: configuration.databasePath, migrations: PoolSchema.migrations)
        try self.init(
            configuration: configuration, logger: logger, clock: clock, random: random, store: store,
            keys: PoolKeys(store: store, random: random),
            passwords: .scrypt(cost: configuration.passwordCost))
    }

    /// The same with given components that are costly to create.
    init(
        configuration: LocalPoolConfiguration, logger: Logger, clock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8], store: Store, keys: PoolKeys, passwords: PasswordHashing
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.clock = PoolClock(clock)
        self.random = random
        registry = try ClientRegistry(configuration.clients, store: store)
        factorSettings = try FactorSettings(configuration, store: store)
        endpoint = configuration.endpoint ?? "http://\(configuration.host):\(configuration.port)"
        self.store = store
        self.keys = KeyRing(keys)
        self.passwords = passwords
        policy = PasswordPolicy(rule: configuration.passwords)
        decoyHash = try passwords.make(Secret(random(16)))
        pretenceKey = try PoolValue.pretenceKey(store: store, random: random)
        try store.writeBlocking { try UserNames.settle(configuration.naming, in: $0) }
        try seed(configuration.users)
        let now = self.clock()
        try store.writeBlocking { database in
            try GroupRecord.settle(configuration.groups, in: database, now: now)
            try RefreshTokenRecord.removeExpired(in: database, now: now)
            try ChallengeRecord.removeExpired(in: database, now: now)
            try HourlyLimit.removeExpired(in: database, now: now)
        }
    }

    /// The `iss` of tokens.
    package var issuer: String { "\(endpoint)/\(configuration.poolID)" }

    /// The JWK set (RFC 7517, 5) with the current keys and those of earlier rotations that are still valid.
    package var keySet: JSONObject { keys.keySet }

    /// The clients of the configuration, and those created since.
    var clients: [ClientAuthentication] { registry.clients }

    /// The client that the request names.
    ///
    /// - Throws: ResourceNotFoundException if the pool has no such client.
    func client(_ fields: RequestFields) throws(PoolError) -> ClientAuthentication {
        let id = try fields.required("ClientId", maximum: 128)
        guard let client = clients.first(where: { $0.clientID == id }) else {
            throw PoolError(type: "ResourceNotFoundException", message: "User pool client \(id) does not exist.")
        }
        return client
    }

    /// The user of a request's access token.
    ///
    /// - Throws: NotAuthorizedException for an invalid token, UserNotFoundException if the user no longer exists.
    func signedIn(_ fields: RequestFields) async throws -> (user: UserRecord, claims: AccessTokenReader.Claims) {
        let token = try fields.required("AccessToken")
        let claims = try AccessTokenReader(keys: keys.verifying, issuer: issuer).read(token, now: clock())
        guard claims.scopes.contains(TokenClaims.ownScope) else {
            throw PoolError.notAuthorized("Access Token does not have required scopes")
        }
        return try await owner(of: claims)
    }

    /// The user of a valid access token of this pool.
    func owner(
        of claims: AccessTokenReader.Claims
    ) async throws -> (user: UserRecord, claims: AccessTokenReader.Claims) {
        let user = try await store.read { database in
            let user = try UserRecord.find(sub: claims.sub, in: database)
            if user != nil, try RefreshTokenRecord.isRevoked(originJTI: claims.originJTI, in: database) {
                throw PoolError.revokedAccessToken
            }
            return user
        }
        guard let user else { throw PoolError.userNotFound }
        guard user.isEnabled else { throw PoolError.userDisabled }
        return (user, claims)
    }

    /// Reads, changes and stores the user in one transaction.
    func change(_ sub: String, _ body: @escaping @Sendable (inout UserRecord) throws -> Void) async throws {
        let now = clock()
        try await store.write { database in
            guard var user = try UserRecord.find(sub: sub, in: database) else { throw PoolError.userNotFound }
            try body(&user)
            try user.update(in: database, now: now)
        }
    }

    /// The credentials to store for a new password. Takes tens of milliseconds of CPU, on threads that no other task
    /// needs.
    ///
    /// - Parameter username: the user's real name, which the SRP verifier includes.
    func credentials(_ password: String, of username: String) async throws -> UserRecord.Credentials {
        let salt = random(16)
        let identity = SRPIdentity(poolID: configuration.poolID, userID: username)
        return try await NIOThreadPool.singleton.runIfActive {
            try passwords.credentials(Secret(password), identity: identity, salt: salt)
        }
    }

    func uuid() -> String { RandomIdentifier.uuid(from: random(16)) }
}
