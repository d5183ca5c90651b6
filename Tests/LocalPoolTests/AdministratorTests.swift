import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("The administrator's operations")
struct AdministratorTests {
    static let poolID: JSON = "us-east-1_TEST"
    static let user: JSONObject = ["UserPoolId": poolID, "Username": .string(TestPool.email)]

    static func with(_ members: JSONObject) -> JSONObject {
        var request = user
        for (name, value) in members { request[name] = value }
        return request
    }

    @Test("Without the administrator's signature, or for another pool, they are refused")
    func unsigned() async throws {
        let pool = try TestPool()
        for operation in UserPool.administratorOperations.keys {
            #expect(try await pool.refusal(operation, Self.user).type == "MissingAuthenticationTokenException")
        }
        let other = try #require(
            await #expect(throws: PoolError.self) {
                try await pool.answer("AdminGetUser", Self.with(["UserPoolId": "us-east-1_OTHER"]))
            })
        #expect(other.type == "ResourceNotFoundException")
    }

    @Test("A user that an administrator made sets a password at the first sign-in")
    func createUser() async throws {
        let pool = try TestPool()
        let email = "made@example.com"
        let made = try await pool.answer(
            "AdminCreateUser",
            [
                "UserPoolId": Self.poolID, "Username": .string(email),
                "UserAttributes": [["Name": "email_verified", "Value": "true"], ["Name": "name", "Value": "Made"]],
            ])
        #expect(made["User"]?["UserStatus"] == "FORCE_CHANGE_PASSWORD")
        let temporary = try await pool.code(for: email)
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(email, password: temporary))
        #expect(challenge["ChallengeName"] == "NEW_PASSWORD_REQUIRED")
        let short = try TestPool.respond(challenge, ["NEW_PASSWORD": "short"], username: email)
        #expect(try await pool.refusal("RespondToAuthChallenge", short).type == "InvalidPasswordException")
        let right = try TestPool.respond(
            challenge, ["NEW_PASSWORD": "my-own-password", "userAttributes.name": "Renamed"], username: email)
        let tokens = try await pool.tokens("RespondToAuthChallenge", right)
        #expect(try claims(tokens.text("IdToken"))["name"] == "Renamed")
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn(email, password: "my-own-password"))
    }

    @Test("A temporary password ends")
    func temporaryPassword() async throws {
        let pool = try TestPool()
        _ = try await pool.answer("AdminSetUserPassword", Self.with(["Password": "temporary-1"]))
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email, password: "temporary-1"))
        #expect(challenge["ChallengeName"] == "NEW_PASSWORD_REQUIRED")
        pool.clock.advance(7 * 86_400)
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email, password: "temporary-1"))
                == .temporaryPasswordExpired)
        _ = try await pool.answer(
            "AdminSetUserPassword", Self.with(["Password": "permanent-1", "Permanent": true]))
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn(TestPool.email, password: "permanent-1"))
    }

    @Test("A disabled user is told so after the right password only, and can't refresh")
    func disable() async throws {
        let pool = try TestPool()
        let tokens = try await pool.signedIn()
        _ = try await pool.answer("AdminDisableUser", Self.user)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .userDisabled)
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email, password: "wrong-password"))
                == .badCredentials)
        let refresh = TestPool.getTokens(try tokens.text("RefreshToken"))
        #expect(try await pool.refusal("GetTokensFromRefreshToken", refresh) == .userDisabled)
        _ = try await pool.answer("AdminEnableUser", Self.user)
        _ = try await pool.tokens("GetTokensFromRefreshToken", refresh)
    }

    @Test("A reset password is out of use until the code sets another")
    func reset() async throws {
        let pool = try TestPool()
        _ = try await pool.answer("AdminResetUserPassword", Self.user)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .passwordResetRequired)
        let code = try await pool.code(for: TestPool.email)
        _ = try await pool.answer("ConfirmForgotPassword", AccountTests.reset(TestPool.email, code: code))
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn(TestPool.email, password: "a-new-password"))
    }

    @Test("Users are confirmed, described, changed, put into groups, signed out and deleted")
    func rest() async throws {
        let pool = try TestPool { $0.users[0].isConfirmed = false }
        _ = try await pool.answer("AdminConfirmSignUp", Self.user)
        let description = try await pool.answer("AdminGetUser", Self.user)
        #expect(description["UserStatus"] == "CONFIRMED")
        #expect(description["Enabled"] == true)
        _ = try await pool.answer(
            "AdminUpdateUserAttributes",
            Self.with(["UserAttributes": [["Name": "email_verified", "Value": "true"]]]))
        _ = try await pool.answer("CreateGroup", ["UserPoolId": Self.poolID, "GroupName": "beta"])
        _ = try await pool.answer("AdminAddUserToGroup", Self.with(["GroupName": "beta"]))
        _ = try await pool.answer("AdminRemoveUserFromGroup", Self.with(["GroupName": "staff"]))
        let tokens = try await pool.signedIn()
        let claims = try claims(tokens.text("IdToken"))
        #expect(claims["cognito:groups"] == ["beta"])
        #expect(claims["email_verified"] == true)
        _ = try await pool.answer("AdminUserGlobalSignOut", Self.user)
        #expect(
            try await pool.refusal("GetTokensFromRefreshToken", TestPool.getTokens(try tokens.text("RefreshToken")))
                == .revokedRefreshToken)
        _ = try await pool.answer("AdminDeleteUser", Self.user)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .badCredentials)
    }

    @Test("The administrator's password flow is the administrator's only")
    func passwordFlow() async throws {
        let pool = try TestPool()
        var request = TestPool.signIn(TestPool.email)
        request["UserPoolId"] = Self.poolID
        request["AuthFlow"] = "ADMIN_USER_PASSWORD_AUTH"
        #expect(
            try await pool.answer("AdminInitiateAuth", request)["AuthenticationResult"] != nil)
        #expect(
            try await pool.refusal("InitiateAuth", request)
                == .invalidParameter("Initiate Auth method not supported."))
    }
}
