import Encoding
import Logging
import Synchronization
import Testing

@testable import LocalPool

@Suite("The log")
struct LogTests {
    @Test("The log holds the confirmation code, and neither passwords nor tokens nor hashes")
    func secrecy() async throws {
        let lines = LogLines()
        let pool = try TestPool(logger: Logger(label: "test") { _ in CapturingLogHandler(lines: lines) })
        let (email, password) = ("new@example.com", "a-password-to-find")
        _ = try await pool.pool.answer("SignUp", TestPool.signUp(email, password: password))
        let code = try await pool.code(for: email)
        _ = try await pool.pool.answer("ConfirmSignUp", TestPool.confirm(email, code: code))
        _ = try await pool.refusal("InitiateAuth", TestPool.signIn(email, password: "a-wrong-password"))
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(email, password: password))
        let refreshToken = try tokens.text("RefreshToken")
        _ = try await pool.tokens("GetTokensFromRefreshToken", TestPool.getTokens(refreshToken))
        _ = try await pool.pool.answer("GetUser", ["AccessToken": .string(try tokens.text("AccessToken"))])

        let log = lines.text
        #expect(log.contains(code))
        let secrets = [
            password, "a-wrong-password", TestPool.clientSecret, refreshToken, try tokens.text("AccessToken"),
            try tokens.text("IdToken"), try #require(TestPool.secretHash(email).stringValue),
        ]
        for secret in secrets {
            #expect(!log.contains(secret.prefix(20)))
        }
    }
}

/// The logged lines.
private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    func append(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct CapturingLogHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.append("\(event.message) \(event.metadata ?? [:])")
    }
}
