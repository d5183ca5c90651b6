import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("Passwords, attributes, signing out, deletion")
struct AccountTests {
    static func named(_ username: String) -> JSONObject {
        [
            "ClientId": .string(TestPool.clientID), "Username": .string(username),
            "SecretHash": TestPool.secretHash(username),
        ]
    }

    static func reset(_ username: String, code: String) -> JSONObject {
        var request = named(username)
        request["ConfirmationCode"] = .string(code)
        request["Password"] = "a-new-password"
        return request
    }

    @Test("A forgotten password is replaced with the code that was sent, which ends after an hour")
    func forgotPassword() async throws {
        let pool = try TestPool()
        let answer = try await pool.answer("ForgotPassword", Self.named(TestPool.email))
        #expect(answer["CodeDeliveryDetails"]?["Destination"] == "J***@e***")
        let late = try await pool.code(for: TestPool.email)
        pool.clock.advance(3600)
        #expect(
            try await pool.refusal("ConfirmForgotPassword", Self.reset(TestPool.email, code: late)) == .expiredCode)
        _ = try await pool.answer("ForgotPassword", Self.named(TestPool.email))
        let code = try await pool.code(for: TestPool.email)
        _ = try await pool.answer("ConfirmForgotPassword", Self.reset(TestPool.email, code: code))
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .badCredentials)
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn(TestPool.email, password: "a-new-password"))
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let parameters = try await SRPSignInTests.parameters(pool, TestPool.email, client)
        _ = try await pool.tokens(
            "RespondToAuthChallenge", SRPSignInTests.proof(parameters, client, password: "a-new-password"))
    }

    @Test("A pool that hides its users pretends to send a code; a LEGACY one doesn't")
    func unknownUser() async throws {
        let hiding = try TestPool()
        let legacy = try TestPool { $0.preventsUserExistenceErrors = false }
        for operation in ["ForgotPassword", "ResendConfirmationCode"] {
            let answer = try await hiding.answer(operation, Self.named("nobody@example.com"))
            #expect(answer["CodeDeliveryDetails"]?["Destination"] == "n***@e***")
            #expect(try await legacy.refusal(operation, Self.named("nobody@example.com")) == .userNotFound)
        }
        #expect(
            try await hiding.refusal("ConfirmForgotPassword", Self.reset("nobody@example.com", code: "123456"))
                == .codeMismatch)
    }

    @Test(
        "Five codes an hour are sent, also to users who aren't there",
        arguments: [TestPool.email, "nobody@example.com"])
    func codeLimit(username: String) async throws {
        let pool = try TestPool()
        for _ in 0..<5 { _ = try await pool.answer("ForgotPassword", Self.named(username)) }
        #expect(try await pool.refusal("ForgotPassword", Self.named(username)) == .limitExceeded)
        pool.clock.advance(3600)
        _ = try await pool.answer("ForgotPassword", Self.named(username))
    }

    @Test("A password is changed with the old one, five times an hour, within the policy")
    func changePassword() async throws {
        let pool = try TestPool {
            $0.passwords.requiresUppercase = true
            $0.users[0].password = Secret("Correct-horse-1")
        }
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(TestPool.email, password: "Correct-horse-1"))
        var request: JSONObject = [
            "AccessToken": .string(try tokens.text("AccessToken")), "PreviousPassword": "wrong-password",
            "ProposedPassword": "another-password",
        ]
        #expect(try await pool.refusal("ChangePassword", request) == .badCredentials)
        request["PreviousPassword"] = "Correct-horse-1"
        #expect(try await pool.refusal("ChangePassword", request).type == "InvalidPasswordException")
        request["ProposedPassword"] = "Another-password"
        _ = try await pool.answer("ChangePassword", request)
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn(TestPool.email, password: "Another-password"))
        for _ in 0..<2 { #expect(try await pool.refusal("ChangePassword", request) == .badCredentials) }
        #expect(try await pool.refusal("ChangePassword", request) == .limitExceeded)
    }

    @Test("A new e-mail address is unverified until its code comes back")
    func attributes() async throws {
        let pool = try TestPool {
            $0.users.append(.init(email: "other@example.com", password: Secret("correct-horse-3")))
        }
        let token = JSON.string(try await pool.signedIn().text("AccessToken"))
        func update(_ name: String, _ value: String) -> JSONObject {
            ["AccessToken": token, "UserAttributes": [["Name": .string(name), "Value": .string(value)]]]
        }
        #expect(
            try await pool.refusal("UpdateUserAttributes", update("email", "OTHER@example.com"))
                == .aliasExists("email"))
        #expect(
            try await pool.refusal("UpdateUserAttributes", update("email_verified", "true")).type
                == "NotAuthorizedException")
        let answer = try await pool.answer("UpdateUserAttributes", update("email", "new@example.com"))
        #expect(answer["CodeDeliveryDetailsList"]?.arrayValue?.count == 1)
        _ = try await pool.answer("UpdateUserAttributes", update("custom:plan", "free"))
        func attribute(_ name: String) async throws -> JSON? {
            let user = try await pool.answer("GetUser", ["AccessToken": token])
            return user["UserAttributes"]?.arrayValue?.first { $0["Name"] == .string(name) }?["Value"]
        }
        #expect(try await attribute("email_verified") == "false")
        #expect(try await attribute("custom:plan") == "free")
        var verify: JSONObject = ["AccessToken": token, "AttributeName": "email", "Code": "abcdef"]
        #expect(try await pool.refusal("VerifyUserAttribute", verify) == .codeMismatch)
        verify["Code"] = .string(try await pool.code(for: "new@example.com"))
        _ = try await pool.answer("VerifyUserAttribute", verify)
        #expect(try await attribute("email_verified") == "true")
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn("new@example.com"))
    }

    @Test("Revoking a refresh token ends its sign-in and no other")
    func revoke() async throws {
        let pool = try TestPool()
        let (first, second) = (try await pool.signedIn(), try await pool.signedIn())
        let refreshToken = try first.text("RefreshToken")
        var request: JSONObject = [
            "Token": .string(refreshToken), "ClientId": .string(TestPool.clientID), "ClientSecret": "wrong",
        ]
        #expect(try await pool.refusal("RevokeToken", request).type == "UnauthorizedException")
        request["ClientSecret"] = .string(TestPool.clientSecret)
        #expect(try await pool.answer("RevokeToken", request) == [:])
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(refreshToken))
                == .revokedRefreshToken)
        #expect(
            try await pool.refusal("GetUser", ["AccessToken": .string(try first.text("AccessToken"))])
                == .revokedAccessToken)
        _ = try await pool.tokens("GetTokensFromRefreshToken", TestPool.getTokens(try second.text("RefreshToken")))
        request["Token"] = .string(try second.text("AccessToken"))
        #expect(try await pool.refusal("RevokeToken", request).type == "UnsupportedTokenTypeException")
        request["Token"] = "unknown"
        #expect(try await pool.answer("RevokeToken", request) == [:])
    }

    @Test("Signing out everywhere ends every sign-in; deleting the user ends the user")
    func endings() async throws {
        let pool = try TestPool()
        let (first, second) = (try await pool.signedIn(), try await pool.signedIn())
        _ = try await pool.answer("GlobalSignOut", ["AccessToken": .string(try first.text("AccessToken"))])
        for tokens in [first, second] {
            let request = TestPool.getTokens(try tokens.text("RefreshToken"))
            #expect(try await pool.refusal("GetTokensFromRefreshToken", request) == .revokedRefreshToken)
        }
        let third = try await pool.signedIn()
        _ = try await pool.answer("DeleteUser", ["AccessToken": .string(try third.text("AccessToken"))])
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .badCredentials)
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(try third.text("RefreshToken")))
                == .invalidRefreshToken)
    }

    @Test("A reused refresh token ends its whole family")
    func reuse() async throws {
        let pool = try TestPool { $0.rotation.isEnabled = true }
        let first = try await pool.signedIn()
        let request = TestPool.getTokens(try first.text("RefreshToken"))
        let second = try await pool.tokens("GetTokensFromRefreshToken", request)
        #expect(try await pool.refusal("GetTokensFromRefreshToken", request) == .reusedRefreshToken)
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(try second.text("RefreshToken")))
                == .revokedRefreshToken)
        #expect(
            try await pool.refusal("GetUser", ["AccessToken": .string(try second.text("AccessToken"))])
                == .revokedAccessToken)
    }

    @Test("A public client proves nothing, and its tokens are its own")
    func publicClient() async throws {
        let pool = try TestPool { $0.clients.append(.init(id: "public", secret: nil)) }
        var request = TestPool.signIn(TestPool.email)
        request["ClientId"] = "public"
        request["AuthParameters"] = ["USERNAME": .string(TestPool.email), "PASSWORD": .string(TestPool.password)]
        let tokens = try await pool.tokens("InitiateAuth", request)
        #expect(try claims(tokens.text("AccessToken"))["client_id"] == "public")
        let refreshToken = try tokens.text("RefreshToken")
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(refreshToken))
                == .invalidRefreshToken)
        _ = try await pool.tokens(
            "GetTokensFromRefreshToken", ["ClientId": "public", "RefreshToken": .string(refreshToken)])
    }

    @Test(
        "Only a literal address is taken as the user's",
        arguments: [("203.0.113.7", true), ("2001:db8::1", true), ("here", false)])
    func userContext(address: String, isGood: Bool) async throws {
        var request = TestPool.signIn(TestPool.email)
        request["UserContextData"] = ["IpAddress": .string(address), "EncodedData": "x"]
        let pool = try TestPool()
        if isGood {
            _ = try await pool.tokens("InitiateAuth", request)
        } else {
            #expect(try await pool.refusal("InitiateAuth", request).type == "InvalidParameterException")
        }
    }
}
