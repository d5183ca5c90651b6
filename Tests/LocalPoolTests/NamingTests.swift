import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("The names of a pool's users")
struct NamingTests {
    typealias Rule = LocalPoolConfiguration.NamingRule

    static let aliases = Rule(aliasAttributes: ["email", "phone_number", "preferred_username"])
    static let plain = Rule(usernameAttributes: [])
    static let (email, phone) = ("new@example.com", "+15550001111")

    static func pool(_ rule: Rule, _ change: (inout LocalPoolConfiguration) -> Void = { _ in }) throws -> TestPool {
        try TestPool { configuration in
            configuration.naming = rule
            configuration.users = []
            change(&configuration)
        }
    }

    static func signUp(_ name: String, _ attributes: [String: String] = [:]) -> JSONObject {
        var request = TestPool.signUp(name)
        request["UserAttributes"] = .array(
            attributes.sorted { $0.key < $1.key }.map { ["Name": .string($0.key), "Value": .string($0.value)] })
        return request
    }

    /// A user who has signed up and confirmed.
    static func confirmed(_ name: String, _ attributes: [String: String] = [:], in pool: TestPool) async throws {
        let answer = try await pool.answer("SignUp", signUp(name, attributes))
        let medium = try #require(answer["CodeDeliveryDetails"]?["DeliveryMedium"]?.stringValue)
        let address = medium == "SMS" ? attributes["phone_number"] ?? name : attributes["email"] ?? name
        _ = try await pool.answer("ConfirmSignUp", TestPool.confirm(name, code: pool.code(for: address)))
    }

    static let refusedNames: [(Rule, String, String)] = [
        (Rule(usernameAttributes: ["email"]), "ada", "Username should be an email."),
        (Rule(usernameAttributes: ["email"]), phone, "Username should be an email."),
        (Rule(usernameAttributes: ["phone_number"]), email, "Username should be a phone number."),
        (
            Rule(usernameAttributes: ["email", "phone_number"]), "ada",
            "Username should be either an email or a phone number."
        ),
        (
            aliases, email, "Username cannot be of email format, since user pool is configured for email alias."
        ),
        (
            aliases, phone,
            "Username cannot be of phone number format, since user pool is configured for phone number alias."
        ),
    ]

    @Test("A name of another form is refused in Cognito's words", arguments: refusedNames.indices)
    func refused(index: Int) async throws {
        let (rule, name, message) = Self.refusedNames[index]
        let pool = try Self.pool(rule)
        #expect(try await pool.refusal("SignUp", Self.signUp(name)) == .invalidParameter(message))
    }

    @Test(
        "A name may have letters, marks, symbols, numbers and punctuation of any script",
        arguments: ["ada", "Юлия", "नीलम", "李小龍", "ada.№7", "a@b", "e\u{301}va"])
    func anyScript(name: String) async throws {
        let pool = try Self.pool(Self.plain)
        try await Self.confirmed(name, ["email": Self.email], in: pool)
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(name))
        #expect(try claims(tokens.text("AccessToken"))["username"] == .string(name))
    }

    @Test(
        "A name has no spaces, controls or invisible characters", arguments: ["a b", "a\u{7}", "a\u{200B}b", "a\u{A0}"])
    func noInvisible(name: String) async throws {
        let pool = try Self.pool(Self.plain)
        let refusal = try await pool.refusal("SignUp", Self.signUp(name))
        #expect(refusal.type == "InvalidParameterException" && refusal.message.contains("\\p{L}\\p{M}"))
    }

    @Test("The user name is in tokens, in GetUser and in the hash of a refresh; the sub is another")
    func realName() async throws {
        let pool = try Self.pool(Self.aliases)
        try await Self.confirmed("Ada", ["email": Self.email], in: pool)
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.email))
        let access = try claims(tokens.text("AccessToken"))
        #expect(access["username"] == "Ada" && access["sub"] != "Ada")
        #expect(try claims(tokens.text("IdToken"))["cognito:username"] == "Ada")
        let user = try await pool.answer("GetUser", ["AccessToken": .string(tokens.text("AccessToken"))])
        #expect(user["Username"] == "Ada")
        let refreshToken = try tokens.text("RefreshToken")
        _ = try await pool.tokens("InitiateAuth", TestPool.refresh(refreshToken, hashing: "Ada"))
        let wrong = TestPool.refresh(refreshToken, hashing: try access.text("sub"))
        #expect(try await pool.refusal("InitiateAuth", wrong).type == "NotAuthorizedException")
    }

    @Test("An address is an alias once it is verified, a preferred name at once")
    func aliases() async throws {
        let pool = try Self.pool(Self.aliases)
        let asked = Self.signUp("ada", ["email": Self.email])
        _ = try await pool.answer("SignUp", asked)
        // Cognito does not know the address yet.
        #expect(try await pool.refusal("ConfirmSignUp", TestPool.confirm(Self.email, code: "1")) == .expiredCode)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(Self.email)) == .badCredentials)
        _ = try await pool.answer("ConfirmSignUp", TestPool.confirm("ada", code: pool.code(for: Self.email)))
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.email))
        let change: JSONObject = [
            "AccessToken": .string(try tokens.text("AccessToken")),
            "UserAttributes": [["Name": "preferred_username", "Value": "Countess"]],
        ]
        _ = try await pool.answer("UpdateUserAttributes", change)
        _ = try await pool.tokens("InitiateAuth", TestPool.signIn("countess"))
        #expect(
            try await pool.refusal("SignUp", Self.signUp("eve", ["preferred_username": "x"]))
                == .preferredUsernameTooEarly)
    }

    @Test("Two may sign up with one address; the second has it only with ForceAliasCreation")
    func takenAlias() async throws {
        let pool = try Self.pool(Self.aliases)
        try await Self.confirmed("ada", ["email": Self.email], in: pool)
        _ = try await pool.answer("SignUp", Self.signUp("eve", ["email": Self.email]))
        var confirm = TestPool.confirm("eve", code: try await pool.code(for: Self.email))
        #expect(
            try await pool.refusal("ConfirmSignUp", confirm)
                == PoolError(
                    type: "AliasExistsException", message: "An account with the given email already exists."))
        confirm["ForceAliasCreation"] = true
        _ = try await pool.answer("ConfirmSignUp", confirm)
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.email))
        #expect(try claims(tokens.text("AccessToken"))["username"] == "eve")
        let other = try await pool.tokens("InitiateAuth", TestPool.signIn("ada"))
        #expect(try claims(other.text("IdToken"))["email_verified"] == false)
    }

    @Test("A telephone number as the name gets its code by SMS, also to reset the password")
    func telephone() async throws {
        let pool = try Self.pool(Rule(usernameAttributes: ["email", "phone_number"]))
        try await Self.confirmed(Self.phone, in: pool)
        try await Self.confirmed(Self.email, in: pool)
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.phone))
        let identity = try claims(tokens.text("IdToken"))
        #expect(identity["phone_number_verified"] == true && identity["email"] == nil)
        #expect(identity["cognito:username"] == identity["sub"])
        let reset = try await pool.answer("ForgotPassword", AccountTests.named(Self.phone))
        #expect(reset["CodeDeliveryDetails"]?["DeliveryMedium"] == "SMS")
        let taken = try await pool.refusal("SignUp", Self.signUp(Self.phone))
        #expect(taken.message == "An account with the given phone_number already exists.")
    }

    @Test("Names are the same in any case, unless the pool tells them apart", arguments: [false, true])
    func caseOfNames(isCaseSensitive: Bool) async throws {
        let rule = Rule(isCaseSensitive: isCaseSensitive)
        let pool = try Self.pool(rule)
        try await Self.confirmed("Юлия", ["email": Self.email], in: pool)
        guard isCaseSensitive else {
            #expect(try await pool.refusal("SignUp", Self.signUp("ЮЛИЯ")) == .usernameExists(nil))
            _ = try await pool.tokens("InitiateAuth", TestPool.signIn("юлия"))
            return
        }
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn("юлия")) == .badCredentials)
        try await Self.confirmed("юлия", ["email": Self.email], in: pool)
    }

    @Test("SRP proves the real user name, and an unknown name looks like a known one")
    func srp() async throws {
        let pool = try Self.pool(Self.aliases)
        try await Self.confirmed("ada", ["email": Self.email], in: pool)
        let client = try SRPClient(random: SecureRandom.bytes(128))
        let known = try await SRPSignInTests.parameters(pool, Self.email, client)
        #expect(known["USER_ID_FOR_SRP"] == "ada")
        let proof = try SRPSignInTests.proof(known, client, password: TestPool.password)
        let tokens = try await pool.tokens("RespondToAuthChallenge", proof)
        #expect(try claims(tokens.text("AccessToken"))["username"] == "ada")
        #expect(try await SRPSignInTests.parameters(pool, "nobody", client)["USER_ID_FOR_SRP"] == "nobody")
        let unknown = try await SRPSignInTests.parameters(pool, "nobody@example.com", client)
        #expect(try unknown.text("USER_ID_FOR_SRP").utf8.count == 36)
    }

    @Test("SignUp is refused where only administrators create users")
    func administratorsOnly() async throws {
        let pool = try TestPool { $0.onlyAdministratorsCreateUsers = true }
        #expect(
            try await pool.refusal("SignUp", TestPool.signUp(Self.email))
                == .notAuthorized("SignUp is not permitted for this user pool"))
        let made = try await pool.answer(
            "AdminCreateUser", ["UserPoolId": "us-east-1_TEST", "Username": .string(Self.email)])
        #expect(made["User"]?["UserStatus"] == "FORCE_CHANGE_PASSWORD")
    }
}
