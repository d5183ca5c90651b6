import Cryptography
import Encoding
import Foundation
import Logging
import Testing

@testable import LocalPool

@Suite("What is kept on disk")
struct PersistenceTests {
    /// Runs `body` with the path of a database in a directory of its own.
    func withDatabase(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "local-pool-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory.appending(path: "state/pool.sqlite").path())
    }

    @Test("Users, keys and refresh tokens outlive a restart")
    func restart() async throws {
        try await withDatabase { path in
            let first = try TestPool(isReal: true) { $0.databasePath = path }
            _ = try await first.pool.answer("SignUp", TestPool.signUp("new@example.com"))
            let tokens = try await first.signedIn()

            let second = try TestPool(isReal: true) { $0.databasePath = path }
            #expect(second.pool.keySet == first.pool.keySet)
            _ = try await second.tokens("GetTokensFromRefreshToken", TestPool.getTokens(tokens.text("RefreshToken")))
            _ = try await second.pool.answer("GetUser", ["AccessToken": .string(tokens.text("AccessToken"))])
            #expect(try await second.refusal("SignUp", TestPool.signUp("new@example.com")) == .usernameExists("email"))
        }
    }

    @Test("Only the owner can read the database, and it holds no password and no token")
    func secrecy() async throws {
        try await withDatabase { path in
            let pool = try TestPool(isReal: true) { $0.databasePath = path }
            let token = try await pool.signedIn().text("RefreshToken")
            for suffix in ["", "-wal"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                let contents = try Data(contentsOf: URL(filePath: path + suffix))
                #expect(contents.range(of: Data(TestPool.password.utf8)) == nil)
                #expect(contents.range(of: Data(token.prefix(40).utf8)) == nil)
            }
        }
    }

    @Test("The configuration wins over what is stored")
    func seeding() async throws {
        try await withDatabase { path in
            _ = try TestPool { $0.databasePath = path }
            let changed = try TestPool {
                $0.databasePath = path
                $0.users[0].password = Secret("another-password")
                $0.users[0].groups = ["admins"]
                $0.users[0].sub = nil
            }
            #expect(try await changed.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .badCredentials)
            let tokens = try await changed.tokens(
                "InitiateAuth", TestPool.signIn(TestPool.email, password: "another-password"))
            let claims = try claims(tokens.text("IdToken"))
            #expect(claims["cognito:groups"] == ["admins"])
            #expect(claims["sub"] == .string(TestPool.sub))
        }
    }

    @Test("A configured user whose sub isn't the stored one is a fault")
    func otherSub() async throws {
        try await withDatabase { path in
            _ = try TestPool { $0.databasePath = path }
            #expect(throws: SeedError.self) {
                try TestPool {
                    $0.databasePath = path
                    $0.users[0].sub = "11111111-2222-4333-8444-555555555555"
                }
            }
        }
    }
}
