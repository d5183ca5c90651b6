import Encoding
import Testing

@testable import LocalPool

@Suite("SignUp and ConfirmSignUp")
struct SignUpTests {
    static let email = "new@example.com"

    @Test("A new user confirms with the code from the inbox and signs in")
    func wholeWay() async throws {
        let pool = try TestPool()
        let answer = try await pool.pool.answer("SignUp", TestPool.signUp(Self.email))
        #expect(answer["UserConfirmed"] == false)
        #expect(
            answer["CodeDeliveryDetails"] == [
                "Destination": "n***@e***", "DeliveryMedium": "EMAIL", "AttributeName": "email",
            ])
        let code = try await pool.code(for: Self.email)
        #expect(code.utf8.count == 6)
        #expect(Int(code) != nil)

        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(Self.email)) == .userNotConfirmed)
        #expect(
            try await pool.refusal("InitiateAuth", TestPool.signIn(Self.email, password: "wrong-password"))
                == .badCredentials)

        #expect(try await pool.pool.answer("ConfirmSignUp", TestPool.confirm(Self.email, code: code)) == [:])
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.email))
        #expect(try claims(tokens.text("AccessToken"))["sub"] == answer["UserSub"])
        #expect(
            try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: code))
                == .notAuthorized("User cannot be confirmed. Current status is CONFIRMED"))
    }

    static let refusedRequests: [(String, @Sendable (inout JSONObject) -> Void, PoolError)] = [
        ("no user name", { $0["Username"] = nil }, violation("Value null at 'username'", "not be null")),
        ("no password", { $0["Password"] = nil }, violation("Value null at 'password'", "not be null")),
        (
            "a user name of 129 characters", { rename(&$0, String(repeating: "a", count: 117) + "@example.com") },
            violation("Value at 'username'", "have length less than or equal to 128")
        ),
        (
            "a password of 257 characters", { $0["Password"] = .string(String(repeating: "a", count: 257)) },
            violation("Value at 'password'", "have length less than or equal to 256")
        ),
        ("a name that is no address", { rename(&$0, "new") }, .invalidParameter("Username should be an email.")),
        ("a number for a user name", { $0["Username"] = 1 }, .serialization),
        (
            "a short password", { $0["Password"] = "seven77" },
            PoolError(
                type: "InvalidPasswordException",
                message: "Password did not conform with policy: Password not long enough")
        ),
        (
            "a user name that is there, in capitals", { rename(&$0, TestPool.email.uppercased()) },
            .usernameExists("email")
        ),
        (
            "an attribute only the pool may set",
            { $0["UserAttributes"] = [["Name": "email_verified", "Value": "true"]] },
            .notAuthorized("A client attempted to write unauthorized attribute")
        ),
        (
            "an attribute the schema doesn't have", { $0["UserAttributes"] = [["Name": "colour", "Value": "red"]] },
            .invalidParameter(
                "Attributes did not conform to the schema: Type for attribute {colour} could not be determined")
        ),
        (
            "another e-mail address", { $0["UserAttributes"] = [["Name": "email", "Value": "x@example.com"]] },
            .invalidParameter("Username and the email attribute must be the same.")
        ),
    ]

    @Test("A sign-up is refused that has", arguments: refusedRequests.indices)
    func refused(index: Int) async throws {
        let (name, change, expected) = Self.refusedRequests[index]
        var request = TestPool.signUp(Self.email)
        change(&request)
        #expect(try await TestPool().refusal("SignUp", request) == expected, "\(name)")
    }

    @Test("Of two sign-ups at the same time one wins")
    func race() async throws {
        let pool = try TestPool()
        let outcomes = await withTaskGroup { group in
            for _ in 0..<2 {
                group.addTask { (try? await pool.pool.answer("SignUp", TestPool.signUp(Self.email))) != nil }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.count(where: { $0 }) == 1)
    }

    @Test("A wrong code is a mismatch, and the right one still works")
    func wrongCode() async throws {
        let pool = try TestPool()
        _ = try await pool.pool.answer("SignUp", TestPool.signUp(Self.email))
        #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: "12345")) == .codeMismatch)
        let code = try await pool.code(for: Self.email)
        _ = try await pool.pool.answer("ConfirmSignUp", TestPool.confirm(Self.email, code: code))
    }

    @Test("A code has expired after its lifetime, and not a second before")
    func expiredCode() async throws {
        let pool = try TestPool { $0.lifetimes.confirmationCode = 100 }
        _ = try await pool.pool.answer("SignUp", TestPool.signUp(Self.email))
        let code = try await pool.code(for: Self.email)
        pool.clock.advance(99)
        #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: "1")) == .codeMismatch)
        pool.clock.advance(1)
        #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: code)) == .expiredCode)
    }

    @Test("After fifteen wrong codes the right one is no longer good")
    func guessing() async throws {
        let pool = try TestPool()
        _ = try await pool.pool.answer("SignUp", TestPool.signUp(Self.email))
        for _ in 0..<15 {
            #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: "1")) == .codeMismatch)
        }
        let code = try await pool.code(for: Self.email)
        #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: code)) == .limitExceeded)
    }

    @Test("An unknown user's code looks expired, or is told apart in a LEGACY pool")
    func unknownUser() async throws {
        let request = TestPool.confirm("nobody@example.com", code: "123456")
        #expect(try await TestPool().refusal("ConfirmSignUp", request) == .expiredCode)
        let legacy = try TestPool { $0.preventsUserExistenceErrors = false }
        #expect(try await legacy.refusal("ConfirmSignUp", request) == .userNotFound)
    }

    private static func rename(_ request: inout JSONObject, _ username: String) {
        request["Username"] = .string(username)
        request["SecretHash"] = TestPool.secretHash(username)
    }

    private static func violation(_ subject: String, _ rule: String) -> PoolError {
        .invalidParameter(
            "1 validation error detected: \(subject) failed to satisfy constraint: Member must \(rule)")
    }
}
