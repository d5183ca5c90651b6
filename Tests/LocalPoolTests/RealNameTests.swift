import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("The real user name where it is not the sub")
struct RealNameTests {
    static let (name, email, phone) = ("ada", "ada@example.com", "+15550001234")

    /// A pool with user names and aliases, all first factors and one custom challenge. Ada has confirmed.
    static func pool(_ change: (inout LocalPoolConfiguration) -> Void = { _ in }) async throws -> TestPool {
        let pool = try NamingTests.pool(NamingTests.aliases) { configuration in
            configuration.passwordless.firstFactors = [.password, .email, .passkey]
            configuration.passwordless.webAuthn = .init(relyingPartyID: "example.com")
            configuration.passwordless.customChallenges = [
                .init(parameters: ["question": "?"], answer: "one"), .init(answer: "two"),
            ]
            change(&configuration)
        }
        try await NamingTests.confirmed(name, ["email": email], in: pool)
        return pool
    }

    static func start(_ flow: String, _ username: String, _ parameters: JSONObject = [:]) -> JSONObject {
        var all = parameters
        all["USERNAME"] = .string(username)
        all["SECRET_HASH"] = TestPool.secretHash(username)
        return ["ClientId": .string(TestPool.clientID), "AuthFlow": .string(flow), "AuthParameters": .object(all)]
    }

    static func access(_ pool: TestPool) async throws -> JSON {
        .string(try await pool.tokens("InitiateAuth", TestPool.signIn(name)).text("AccessToken"))
    }

    @Test("Each custom challenge names the user, and is answered by that name", arguments: [name, email])
    func custom(typed: String) async throws {
        let pool = try await Self.pool()
        let first = try await pool.pool.answer("InitiateAuth", Self.start("CUSTOM_AUTH", typed))
        #expect(first["ChallengeParameters"] == ["question": "?", "USERNAME": "ada"])
        let answer = try TestPool.respond(first, ["ANSWER": "one"], username: Self.name)
        let second = try await pool.pool.answer("RespondToAuthChallenge", answer)
        #expect(second["ChallengeParameters"] == ["USERNAME": "ada"])
        let tokens = try await pool.tokens(
            "RespondToAuthChallenge", TestPool.respond(second, ["ANSWER": "two"], username: Self.name))
        #expect(try claims(tokens.text("AccessToken"))["username"] == "ada")
    }

    @Test("A custom challenge of an unknown name looks like that of a known one")
    func unknownCustom() async throws {
        let pool = try await Self.pool()
        func shown(_ name: String) async throws -> JSON? {
            try await pool.pool.answer("InitiateAuth", Self.start("CUSTOM_AUTH", name))["ChallengeParameters"]?[
                "USERNAME"]
        }
        #expect(try await shown("nobody") == "nobody")
        let invented = try #require(try await shown("nobody@example.com")?.stringValue)
        #expect(invented.utf8.count == 36)
        #expect(try await shown("nobody@example.com") == .string(invented))
    }

    @Test("The steps of USER_AUTH take the user name and the alias", arguments: [name, email])
    func choice(typed: String) async throws {
        let pool = try await Self.pool()
        let asked = try await pool.pool.answer("InitiateAuth", Self.start("USER_AUTH", typed))
        #expect(asked["ChallengeName"] == "SELECT_CHALLENGE")
        let sent = try await pool.pool.answer(
            "RespondToAuthChallenge", TestPool.respond(asked, ["ANSWER": "EMAIL_OTP"], username: Self.name))
        let code = JSON.string(try await pool.code(for: Self.email))
        let tokens = try await pool.tokens(
            "RespondToAuthChallenge", TestPool.respond(sent, ["EMAIL_OTP_CODE": code], username: typed))
        #expect(try claims(tokens.text("AccessToken"))["username"] == "ada")
    }

    @Test("Where a second factor is required, a password is the only first one", arguments: [false, true])
    func requiredSecondFactor(isRequired: Bool) async throws {
        let pool = try await Self.pool { $0.mfa.mode = isRequired ? .required : .optional }
        let answer = try await pool.pool.answer("InitiateAuth", Self.start("USER_AUTH", Self.email))
        let available = (answer["AvailableChallenges"] ?? .null).strings
        #expect(available.contains("PASSWORD") && available.contains("EMAIL_OTP") == !isRequired)
    }

    @Test("PASSWORD_SRP within USER_AUTH proves the user name")
    func srpChoice() async throws {
        let pool = try await Self.pool { $0.passwordless.firstFactors = [.password] }
        let client = try SRPClient(random: SecureRandom.bytes(128))
        let started = try await pool.pool.answer(
            "InitiateAuth",
            Self.start(
                "USER_AUTH", Self.email,
                ["PREFERRED_CHALLENGE": "PASSWORD_SRP", "SRP_A": .string(client.publicValue.hex)]))
        let parameters = try #require(started["ChallengeParameters"]?.objectValue)
        #expect(parameters["USER_ID_FOR_SRP"] == "ada" && parameters["USERNAME"] == "ada")
        let proof = try SRPSignInTests.proof(parameters, client, password: TestPool.password)
        let tokens = try await pool.tokens("RespondToAuthChallenge", proof)
        #expect(try claims(tokens.text("AccessToken"))["username"] == "ada")
    }

    @Test("Challenges after the password have the user name")
    func secondFactor() async throws {
        let pool = try await Self.pool { $0.mfa.mode = .required }
        let challenge = try await pool.pool.answer("InitiateAuth", TestPool.signIn(Self.email))
        #expect(challenge["ChallengeParameters"]?["USER_ID_FOR_SRP"] == "ada")
    }

    @Test("GetUserAuthFactors and a new passkey's options have the user name; its handle is the sub")
    func passkeys() async throws {
        let pool = try await Self.pool()
        let token = try await Self.access(pool)
        #expect(try await pool.pool.answer("GetUserAuthFactors", ["AccessToken": token])["Username"] == "ada")
        let options = try await pool.pool.answer("StartWebAuthnRegistration", ["AccessToken": token])
        let user = options["CredentialCreationOptions"]?["user"]
        #expect(user?["name"] == "ada" && user?["displayName"] == "ada")
        let sub = try claims(#require(token.stringValue)).text("sub")
        #expect(user?["id"] == .string(Base64URL.encode(Array(sub.utf8))))
    }

    @Test("A code for an unknown user seems to go to an address, the same each time", arguments: ["eve", phone])
    func pretendedAddress(typed: String) async throws {
        let pool = try await Self.pool { $0.passwordless.firstFactors = [.email] }
        func sent() async throws -> JSON? {
            try await pool.pool.answer("InitiateAuth", Self.start("USER_AUTH", typed))["ChallengeParameters"]
        }
        let first = try await sent()
        #expect(first?["CODE_DELIVERY_DELIVERY_MEDIUM"] == "EMAIL")
        let address = try #require(first?["CODE_DELIVERY_DESTINATION"]?.stringValue)
        #expect(try await sent() == first)
        // One character on either side, as a real one is masked.
        #expect(address.utf8.count == 9 && address.contains("***@"))
    }

    /// Anyone may choose another user's `sub` as a name in such a pool.
    @Test("A name that is another user's sub gets nothing of that user's, and takes nothing away")
    func subAsName() async throws {
        let pool = try await Self.pool()
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn(Self.name))
        let sub = try claims(tokens.text("AccessToken")).text("sub")
        try await NamingTests.confirmed(sub, ["email": "eve@example.com"], in: pool)
        let refreshed = try await pool.tokens(
            "GetTokensFromRefreshToken", TestPool.getTokens(tokens.text("RefreshToken")))
        #expect(try claims(refreshed.text("AccessToken"))["username"] == "ada")
        let token = JSON.string(try refreshed.text("AccessToken"))
        #expect(try await pool.pool.answer("GetUser", ["AccessToken": token])["Username"] == "ada")
        let change: JSONObject = [
            "AccessToken": token, "UserAttributes": [["Name": "nickname", "Value": "Countess"]],
        ]
        _ = try await pool.pool.answer("UpdateUserAttributes", change)
        let user = try await pool.pool.answer("GetUser", ["AccessToken": token])
        #expect(user["UserAttributes"]?.arrayValue?.contains(["Name": "nickname", "Value": "Countess"]) == true)
        let other = try await pool.tokens("InitiateAuth", TestPool.signIn(sub))
        #expect(try claims(other.text("AccessToken"))["username"] == .string(sub))
        #expect(try claims(other.text("AccessToken"))["sub"] != .string(sub))
    }
}
