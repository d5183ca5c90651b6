import Encoding
import Synchronization
import Testing

@testable import LocalPool

@Suite("InitiateAuth with USER_PASSWORD_AUTH")
struct SignInTests {
    @Test(
        "The user name may be the e-mail address in any case, or the sub",
        arguments: [
            TestPool.email, "jane@EXAMPLE.com", TestPool.sub,
        ])
    func usernames(username: String) async throws {
        let pool = try TestPool()
        let answer = try await pool.pool.answer("InitiateAuth", TestPool.signIn(username))
        #expect(answer["ChallengeParameters"] == [:])
        let tokens = try #require(answer["AuthenticationResult"]?.objectValue)
        #expect(tokens["TokenType"] == "Bearer")
        #expect(tokens["ExpiresIn"] == 3600)
        #expect(try tokens.text("RefreshToken").utf8.count == 1792)
        #expect(try claims(tokens.text("AccessToken"))["username"] == .string(TestPool.sub))
    }

    @Test("An access token holds what Cognito's does")
    func accessToken() async throws {
        let pool = try TestPool { $0.lifetimes.accessToken = 300 }
        let claims = try claims(await pool.signedIn().text("AccessToken"))
        #expect(
            Set(claims.map(\.name)) == [
                "sub", "cognito:groups", "iss", "client_id", "origin_jti", "event_id", "token_use", "scope",
                "auth_time", "exp", "iat", "jti", "username",
            ])
        #expect(claims["sub"] == .string(TestPool.sub))
        #expect(claims["cognito:groups"] == ["staff"])
        #expect(claims["iss"] == "http://pool.test/us-east-1_TEST")
        #expect(claims["client_id"] == .string(TestPool.clientID))
        #expect(claims["token_use"] == "access")
        #expect(claims["scope"] == "aws.cognito.signin.user.admin")
        #expect(claims["auth_time"]?.integerValue == pool.clock.now)
        #expect(claims["iat"]?.integerValue == pool.clock.now)
        #expect(claims["exp"]?.integerValue == pool.clock.now + 300)
    }

    @Test("An ID token holds what Cognito's does")
    func idToken() async throws {
        let pool = try TestPool { $0.lifetimes.idToken = 400 }
        let claims = try claims(await pool.signedIn().text("IdToken"))
        #expect(
            Set(claims.map(\.name)) == [
                "sub", "cognito:groups", "iss", "aud", "origin_jti", "event_id", "token_use", "auth_time", "exp", "iat",
                "jti", "cognito:username", "email", "email_verified", "name",
            ])
        #expect(claims["aud"] == .string(TestPool.clientID))
        #expect(claims["token_use"] == "id")
        #expect(claims["cognito:username"] == .string(TestPool.sub))
        #expect(claims["email"] == .string(TestPool.email))
        #expect(claims["email_verified"] == true)
        #expect(claims["name"] == "Jane")
        #expect(claims["exp"]?.integerValue == pool.clock.now + 400)
    }

    @Test("A user without groups has no cognito:groups")
    func noGroups() async throws {
        let pool = try TestPool { $0.users[0].groups = [] }
        #expect(try claims(await pool.signedIn().text("IdToken"))["cognito:groups"] == nil)
    }

    @Test("A wrong password and an unknown user are refused alike")
    func badCredentials() async throws {
        let pool = try TestPool()
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email, password: "wrong-password"))
                == .badCredentials)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn("nobody@example.com")) == .badCredentials)
    }

    @Test("An unknown user's password is hashed as a known one's is")
    func equalCost() async throws {
        let compared = Mutex<[String]>([])
        let hashing = PasswordHashing(
            make: { _ in "a hash" },
            matches: { _, stored in
                compared.withLock { $0.append(stored) }
                return false
            })
        let pool = try TestPool(passwords: hashing)
        _ = try await pool.refusal("InitiateAuth", TestPool.signIn("nobody@example.com"))
        _ = try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email))
        #expect(compared.withLock { $0 } == ["a hash", "a hash"])
    }

    @Test("A LEGACY pool tells that there is no such user")
    func legacy() async throws {
        let pool = try TestPool { $0.preventsUserExistenceErrors = false }
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn("nobody@example.com")) == .userNotFound)
    }

    @Test("From the fifth wrong password on sign-in is blocked for a while, also with the right one")
    func lockout() async throws {
        let pool = try TestPool()
        let wrong = TestPool.signIn(TestPool.email, password: "wrong-password")
        for _ in 0..<5 {
            #expect(try await pool.refusal("InitiateAuth", wrong) == .badCredentials)
        }
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .attemptsExceeded)
        pool.clock.advance(1)
        #expect(try await pool.refusal("InitiateAuth", wrong) == .badCredentials)
        pool.clock.advance(1)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .attemptsExceeded)
        pool.clock.advance(1)
        _ = try await pool.signedIn()
        #expect(try await pool.refusal("InitiateAuth", wrong) == .badCredentials)
        _ = try await pool.signedIn()
    }

    @Test(
        "The block doubles up to fifteen minutes",
        arguments: [
            (4, 0), (5, 1), (6, 2), (10, 32), (14, 512), (15, 900), (1000, 900),
        ] as [(Int64, Int64)])
    func lockSeconds(failures: Int64, seconds: Int64) {
        #expect(SignInAttempts.lock(after: failures) == seconds)
    }

    @Test("A flow the client doesn't have is refused", arguments: ["CUSTOM_AUTH", "USER_AUTH"])
    func otherFlows(flow: String) async throws {
        var request = TestPool.signIn(TestPool.email)
        request["AuthFlow"] = .string(flow)
        #expect(
            try await TestPool { $0.clients[0].flows.remove("ALLOW_\(flow)") }.refusal("InitiateAuth", request)
                == .invalidParameter("\(flow) flow not enabled for this client"))
    }

    @Test("A flow Cognito doesn't have is refused")
    func unknownFlow() async throws {
        var request = TestPool.signIn(TestPool.email)
        request["AuthFlow"] = "MAGIC"
        let refusal = try await TestPool().refusal("InitiateAuth", request)
        #expect(refusal.type == "InvalidParameterException")
        #expect(refusal.message.contains("Member must satisfy enum value set"))
    }

    @Test("A missing parameter is named", arguments: ["USERNAME", "PASSWORD"])
    func missingParameter(name: String) async throws {
        var request = TestPool.signIn(TestPool.email)
        var parameters = try #require(request["AuthParameters"]?.objectValue)
        parameters[name] = nil
        request["AuthParameters"] = .object(parameters)
        #expect(
            try await TestPool().refusal("InitiateAuth", request)
                == .invalidParameter("Missing required parameter \(name)"))
    }
}
