internal import Cryptography
internal import FoundationEssentials
package import Logging
package import Pipeline
internal import Store

/// A Cognito user pool with one app client: requests in, answers out, state in a ``Store``.
///
/// Users sign in with their e-mail address; their real user name is their `sub`. Each operation is one function from
/// the request's JSON to the answer's, in a file of its own. What the time is and what is random are parameters.
package struct UserPool: Sendable {
    let configuration: LocalPoolConfiguration
    let client: ClientAuthentication
    let store: Store
    let keys: PoolKeys
    let passwords: PasswordHashing
    /// Compared with when there is no such user, so that the answer takes as long as with one.
    let decoyHash: String
    let logger: Logger
    let clock: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    /// The base URL of tokens' `iss`, without a trailing slash.
    package var endpoint: String

    /// Opens the pool's database, makes its keys if there are none, and puts in the configured users.
    ///
    /// Takes about 50 ms for each configured user and blocks the calling thread.
    ///
    /// - Parameters:
    ///   - clock: Seconds since 1970.
    ///   - random: As many random bytes as asked for.
    /// - Throws: what the database, the keys or the password hash throw.
    package init(
        configuration: LocalPoolConfiguration, logger: Logger,
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) },
        random: @escaping @Sendable (Int) -> [UInt8] = { SecureRandom.bytes($0) }
    ) throws {
        let store = try Store(path: configuration.databasePath, migrations: PoolSchema.migrations)
        try self.init(
            configuration: configuration, logger: logger, clock: clock, random: random, store: store,
            keys: PoolKeys(store: store, random: random), passwords: .scrypt)
    }

    /// As the other one with what is costly to make given.
    init(
        configuration: LocalPoolConfiguration, logger: Logger, clock: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8], store: Store, keys: PoolKeys, passwords: PasswordHashing
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.clock = clock
        self.random = random
        client = ClientAuthentication(clientID: configuration.clientID, secret: configuration.clientSecret)
        endpoint = configuration.endpoint ?? "http://\(configuration.host):\(configuration.port)"
        self.store = store
        self.keys = keys
        self.passwords = passwords
        decoyHash = try passwords.make(Secret(random(16)))
        try seed(configuration.users)
        let now = clock()
        try store.writeBlocking { try RefreshTokenRecord.removeExpired(in: $0, now: now) }
    }

    /// Tokens' `iss`.
    package var issuer: String { "\(endpoint)/\(configuration.poolID)" }

    /// The JWK set with both keys.
    package var keySet: JSONObject { keys.keySet }

    /// Carries out the operation called `operation`.
    ///
    /// - Throws: UnknownOperationException for an operation that isn't there, the operation's own refusal, or
    ///   InternalErrorException with the cause in the log.
    package func answer(_ operation: String, _ request: JSONObject) async throws(PoolError) -> JSONObject {
        do {
            switch operation {
            case "SignUp": return try await signUp(request)
            case "ConfirmSignUp": return try await confirmSignUp(request)
            case "InitiateAuth": return try await initiateAuth(request)
            case "GetTokensFromRefreshToken" where configuration.hasGetTokensFromRefreshToken:
                return try await getTokensFromRefreshToken(request)
            case "GetUser": return try await getUser(request)
            default: throw PoolError.unknownOperation
            }
        } catch let error as PoolError {
            throw error
        } catch {
            // GRDB's errors hold the statement without its arguments, OpenSSL's the step: no values.
            logger.error("an operation failed", metadata: ["operation": "\(operation)", "error": "\(error)"])
            throw .internalError
        }
    }

    /// What was sent to this e-mail address: a list of `{email, purpose, code, sent_at}`, newest last.
    package func inbox(of email: String) async throws -> JSON {
        try await store.read { try ConfirmationCode.inbox(of: email, in: $0) }
    }

    func uuid() -> String { RandomIdentifier.uuid(from: random(16)) }
}
