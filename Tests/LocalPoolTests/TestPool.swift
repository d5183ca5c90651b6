import Cryptography
import Encoding
import Logging
import Store
import Synchronization
import Testing

@testable import LocalPool

/// A time that stands still until it is told to move.
final class TestClock: Sendable {
    private let seconds = Mutex<Int64>(1_800_000_000)

    var now: Int64 { seconds.withLock { $0 } }

    func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}

/// A pool in memory with one user, and the requests a right client would send.
struct TestPool {
    static let clientID = "57cbishk4j24pabc1234567890"
    static let clientSecret = "1example2secret3example4secret5example6secret7example"
    static let email = "Jane@example.com"
    static let password = "correct-horse-1"
    static let sub = "f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d"

    let pool: UserPool
    let clock = TestClock()

    /// Keys and password hashes as real pools have them take too long for every test; the tests that are about them
    /// set `isReal`.
    init(
        isReal: Bool = false, passwords: PasswordHashing = quickHashing,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ change: (inout LocalPoolConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = Self.configuration
        change(&configuration)
        let clock = clock
        guard !isReal else {
            pool = try UserPool(configuration: configuration, logger: logger, clock: { clock.now })
            return
        }
        pool = try UserPool(
            configuration: configuration, logger: logger, clock: { clock.now }, random: { SecureRandom.bytes($0) },
            store: Store(path: configuration.databasePath, migrations: PoolSchema.migrations),
            keys: Self.sharedKeys.get(), passwords: passwords)
    }

    private static let sharedKeys = Result {
        PoolKeys(
            access: try SigningKey(RSASigningKey.generate(bits: 2048), keyID: "access="),
            id: try SigningKey(RSASigningKey.generate(bits: 2048), keyID: "id="))
    }

    static let quickHashing = PasswordHashing(
        make: { Base64.encode(SHA256.hash($0.expose())) },
        matches: { Base64.encode(SHA256.hash($0.expose())) == $1 })

    static var configuration: LocalPoolConfiguration {
        var configuration = LocalPoolConfiguration(
            poolID: "us-east-1_TEST", clients: [.init(id: clientID, secret: Secret(clientSecret))],
            databasePath: ":memory:")
        configuration.endpoint = "http://pool.test"
        configuration.users = [
            .init(
                email: email, password: Secret(password), sub: sub, groups: ["staff"], attributes: ["name": "Jane"])
        ]
        return configuration
    }

    static func secretHash(_ username: String) -> JSON {
        let code = HMACSHA256.authenticationCode(for: Array((username + clientID).utf8), key: Array(clientSecret.utf8))
        return .string(Base64.encode(code))
    }

    static func signUp(_ email: String, password: String = password) -> JSONObject {
        [
            "ClientId": .string(clientID), "Username": .string(email), "Password": .string(password),
            "SecretHash": secretHash(email),
        ]
    }

    static func confirm(_ email: String, code: String) -> JSONObject {
        [
            "ClientId": .string(clientID), "Username": .string(email), "ConfirmationCode": .string(code),
            "SecretHash": secretHash(email),
        ]
    }

    static func signIn(_ username: String, password: String = password) -> JSONObject {
        [
            "ClientId": .string(clientID), "AuthFlow": "USER_PASSWORD_AUTH",
            "AuthParameters": [
                "USERNAME": .string(username), "PASSWORD": .string(password), "SECRET_HASH": secretHash(username),
            ],
        ]
    }

    static func refresh(_ token: String, hashing username: String) -> JSONObject {
        [
            "ClientId": .string(clientID), "AuthFlow": "REFRESH_TOKEN_AUTH",
            "AuthParameters": ["REFRESH_TOKEN": .string(token), "SECRET_HASH": secretHash(username)],
        ]
    }

    static func getTokens(_ token: String) -> JSONObject {
        [
            "ClientId": .string(clientID), "ClientSecret": .string(clientSecret), "RefreshToken": .string(token),
        ]
    }

    /// The AuthenticationResult of the operation.
    func tokens(_ operation: String, _ request: JSONObject) async throws -> JSONObject {
        try #require(try await pool.answer(operation, request)["AuthenticationResult"]?.objectValue)
    }

    func signedIn() async throws -> JSONObject {
        try await tokens("InitiateAuth", Self.signIn(Self.email))
    }

    /// The refusal of the operation; fails the test if there is none.
    func refusal(_ operation: String, _ request: JSONObject) async throws -> PoolError {
        try #require(await #expect(throws: PoolError.self) { try await pool.answer(operation, request) })
    }

    /// The newest code that was sent to this address.
    func code(for email: String) async throws -> String {
        try #require(try await pool.inbox(of: email).arrayValue?.last?["code"]?.stringValue)
    }
}

extension JSONObject {
    func text(_ name: String) throws -> String { try #require(self[name]?.stringValue) }
}

/// The claims of a token, unverified.
func claims(_ token: String) throws -> JSONObject { try part(1, of: token) }

/// The header of a token.
func header(_ token: String) throws -> JSONObject { try part(0, of: token) }

private func part(_ index: Int, of token: String) throws -> JSONObject {
    let parts = token.split(separator: ".")
    try #require(parts.count == 3)
    let bytes = try #require(Base64URL.decode(parts[index].utf8))
    return try #require(try JSON.parse(bytes).objectValue)
}
