import Encoding
import Testing

@testable import LocalPool

@Suite("Refreshing")
struct RefreshTests {
    /// Both ways to refresh, as a right client asks.
    static let ways: [(String, @Sendable (String) -> JSONObject)] = [
        ("InitiateAuth", { TestPool.refresh($0, hashing: TestPool.sub) }),
        ("GetTokensFromRefreshToken", { TestPool.getTokens($0) }),
    ]

    @Test("A refresh gives new tokens of the same sign-in and no new refresh token", arguments: ways.indices)
    func refresh(way: Int) async throws {
        let pool = try TestPool()
        let first = try await pool.signedIn()
        let signedInAt = pool.clock.now
        pool.clock.advance(1000)
        let (operation, request) = Self.ways[way]
        let second = try await pool.tokens(operation, request(first.text("RefreshToken")))
        #expect(second["RefreshToken"] == nil)
        for name in ["AccessToken", "IdToken"] {
            let (old, new) = (try claims(first.text(name)), try claims(second.text(name)))
            #expect(new["auth_time"]?.integerValue == signedInAt)
            #expect(new["iat"]?.integerValue == signedInAt + 1000)
            #expect(new["exp"]?.integerValue == signedInAt + 1000 + 3600)
            #expect(new["origin_jti"] == old["origin_jti"])
            #expect(new["jti"] != old["jti"])
            #expect(new["sub"] == old["sub"])
        }
    }

    @Test("A refresh hashed with the e-mail address is refused: the real user name is the sub")
    func refreshUsername() async throws {
        let pool = try TestPool()
        let token = try await pool.signedIn().text("RefreshToken")
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.refresh(token, hashing: TestPool.email))
                == .notAuthorized("SecretHash does not match for the client: \(TestPool.clientID)"))
    }

    @Test("GetTokensFromRefreshToken wants the client secret itself")
    func rawSecret() async throws {
        let pool = try TestPool()
        var request = TestPool.getTokens(try await pool.signedIn().text("RefreshToken"))
        request["ClientSecret"] = TestPool.secretHash(TestPool.sub)
        #expect(try await pool.refusal("GetTokensFromRefreshToken", request).type == "NotAuthorizedException")
        request["ClientSecret"] = nil
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", request)
                == .notAuthorized(
                    "Client \(TestPool.clientID) is configured for secret but secret was not received"))
    }

    @Test("A made-up refresh token is refused", arguments: ways.indices)
    func unknownToken(way: Int) async throws {
        let (operation, request) = Self.ways[way]
        #expect(try await TestPool().refusal(operation, request("made-up")) == .invalidRefreshToken)
    }

    @Test("A refresh token has expired after its lifetime, and not a second before", arguments: ways.indices)
    func expiredToken(way: Int) async throws {
        let pool = try TestPool { $0.lifetimes.refreshToken = 100 }
        let (operation, request) = Self.ways[way]
        let token = try await pool.signedIn().text("RefreshToken")
        pool.clock.advance(99)
        _ = try await pool.tokens(operation, request(token))
        pool.clock.advance(1)
        #expect(try await pool.refusal(operation, request(token)) == .expiredRefreshToken)
    }

    @Test("A pool without GetTokensFromRefreshToken doesn't know it, and refreshes the other way")
    func withoutOperation() async throws {
        let pool = try TestPool { $0.hasGetTokensFromRefreshToken = false }
        let token = try await pool.signedIn().text("RefreshToken")
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(token))
                == .unknownOperation("GetTokensFromRefreshToken"))
        _ = try await pool.tokens("InitiateAuth", TestPool.refresh(token, hashing: TestPool.sub))
    }

    @Test("With rotation each refresh gives a new refresh token, which ends when the first would have")
    func rotation() async throws {
        let pool = try TestPool {
            $0.rotation.isEnabled = true
            $0.lifetimes.refreshToken = 100
        }
        let first = try await pool.signedIn().text("RefreshToken")
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.refresh(first, hashing: TestPool.sub))
                == .invalidParameter("REFRESH_TOKEN_AUTH flow not enabled for this client"))
        pool.clock.advance(50)
        let second = try await pool.tokens("GetTokensFromRefreshToken", TestPool.getTokens(first)).text("RefreshToken")
        #expect(second != first)
        pool.clock.advance(49)
        let third = try await pool.tokens("GetTokensFromRefreshToken", TestPool.getTokens(second)).text("RefreshToken")
        pool.clock.advance(1)
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(third)) == .expiredRefreshToken)
    }

    @Test("A replaced refresh token is good for retries within the grace period only")
    func reuse() async throws {
        let pool = try TestPool {
            $0.rotation.isEnabled = true
            $0.rotation.retryGrace = 10
        }
        let request = TestPool.getTokens(try await pool.signedIn().text("RefreshToken"))
        _ = try await pool.tokens("GetTokensFromRefreshToken", request)
        pool.clock.advance(9)
        _ = try await pool.tokens("GetTokensFromRefreshToken", request)
        pool.clock.advance(1)
        #expect(try await pool.refusal("GetTokensFromRefreshToken", request) == .reusedRefreshToken)
    }

    @Test("Of many refreshes with one rotating token at the same time one wins")
    func race() async throws {
        let pool = try TestPool { $0.rotation.isEnabled = true }
        let request = TestPool.getTokens(try await pool.signedIn().text("RefreshToken"))
        let outcomes = await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { (try? await pool.tokens("GetTokensFromRefreshToken", request)) != nil }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.count(where: { $0 }) == 1)
    }
}
