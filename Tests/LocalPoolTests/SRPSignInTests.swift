import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("Signing in without sending the password")
struct SRPSignInTests {
    static let timestamp = "Fri Jan 15 08:00:00 UTC 2027"

    static func start(_ username: String, _ client: SRPClient, deviceKey: String? = nil) -> JSONObject {
        var parameters: JSONObject = [
            "USERNAME": .string(username), "SRP_A": .string(client.publicValue.hex),
            "SECRET_HASH": TestPool.secretHash(username),
        ]
        if let deviceKey { parameters["DEVICE_KEY"] = .string(deviceKey) }
        return [
            "ClientId": .string(TestPool.clientID), "AuthFlow": "USER_SRP_AUTH",
            "AuthParameters": .object(parameters),
        ]
    }

    /// The answer to the challenge with these parameters.
    static func proof(
        _ parameters: JSONObject, _ client: SRPClient, password: String, timestamp: String = timestamp,
        identity: SRPIdentity? = nil, challenge: String = "PASSWORD_VERIFIER"
    ) throws -> JSONObject {
        let username = try parameters.text("USERNAME")
        let identity = identity ?? SRPIdentity(poolID: "us-east-1_TEST", userID: username)
        let block = try parameters.text("SECRET_BLOCK")
        let signature = try client.signature(
            identity: identity, password: Secret(password),
            salt: try #require(SRPNumber(hex: try parameters.text("SALT"))),
            serverPublicValue: try #require(SRPNumber(hex: try parameters.text("SRP_B"))),
            secretBlock: try #require(Base64.decode(block.utf8)), timestamp: timestamp)
        var responses: JSONObject = [
            "USERNAME": .string(username), "PASSWORD_CLAIM_SECRET_BLOCK": .string(block),
            "PASSWORD_CLAIM_SIGNATURE": .string(Base64.encode(signature)), "TIMESTAMP": .string(timestamp),
            "SECRET_HASH": TestPool.secretHash(username),
        ]
        if let key = parameters["DEVICE_KEY"] { responses["DEVICE_KEY"] = key }
        return [
            "ClientId": .string(TestPool.clientID), "ChallengeName": .string(challenge),
            "ChallengeResponses": .object(responses),
        ]
    }

    static func parameters(
        _ pool: TestPool, _ username: String, _ client: SRPClient, deviceKey: String? = nil
    ) async throws -> JSONObject {
        let answer = try await pool.pool.answer("InitiateAuth", start(username, client, deviceKey: deviceKey))
        #expect(answer["ChallengeName"] == "PASSWORD_VERIFIER")
        return try #require(answer["ChallengeParameters"]?.objectValue)
    }

    @Test("The right password gives tokens; the challenge names the sub, not what was typed")
    func signIn() async throws {
        let pool = try TestPool()
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let parameters = try await Self.parameters(pool, "JANE@example.com", client)
        #expect(parameters["USERNAME"] == .string(TestPool.sub))
        #expect(parameters["USER_ID_FOR_SRP"] == .string(TestPool.sub))
        let proof = try Self.proof(parameters, client, password: TestPool.password)
        let tokens = try await pool.tokens("RespondToAuthChallenge", proof)
        #expect(try claims(tokens.text("AccessToken"))["sub"] == .string(TestPool.sub))
        #expect(try await pool.refusal("RespondToAuthChallenge", proof) == .usedSession)
    }

    @Test("A wrong password is refused and counts for the lock")
    func wrongPassword() async throws {
        let pool = try TestPool()
        for _ in 0..<5 {
            let client = try SRPClient(random: SecureRandom.bytes(32))
            let parameters = try await Self.parameters(pool, TestPool.email, client)
            let proof = try Self.proof(parameters, client, password: "wrong-password")
            #expect(try await pool.refusal("RespondToAuthChallenge", proof) == .badCredentials)
        }
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == .attemptsExceeded)
    }

    @Test("A user who isn't there has a name and a salt, always the same, and a wrong password")
    func unknownUser() async throws {
        let pool = try TestPool()
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let first = try await Self.parameters(pool, "nobody@example.com", client)
        let second = try await Self.parameters(pool, "Nobody@example.com", client)
        let other = try await Self.parameters(pool, "other@example.com", client)
        #expect(first["SALT"] == second["SALT"])
        #expect(first["USERNAME"] == second["USERNAME"])
        #expect(first["SRP_B"] != second["SRP_B"])
        #expect(first["SALT"] != other["SALT"])
        let known = try await Self.parameters(pool, TestPool.email, client)
        #expect(Set(known.map(\.name)) == Set(first.map(\.name)))
        let proof = try Self.proof(first, client, password: TestPool.password)
        #expect(try await pool.refusal("RespondToAuthChallenge", proof) == .badCredentials)
        let legacy = try TestPool { $0.preventsUserExistenceErrors = false }
        #expect(try await legacy.refusal("InitiateAuth", Self.start("nobody@example.com", client)) == .userNotFound)
    }

    @Test("A challenge ends after three minutes")
    func expired() async throws {
        let pool = try TestPool()
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let proof = try Self.proof(
            try await Self.parameters(pool, TestPool.email, client), client, password: TestPool.password)
        pool.clock.advance(180)
        #expect(try await pool.refusal("RespondToAuthChallenge", proof) == .expiredSession)
    }

    @Test("A timestamp of another form is refused")
    func timestamps() async throws {
        let pool = try TestPool()
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let proof = try Self.proof(
            try await Self.parameters(pool, TestPool.email, client), client, password: TestPool.password,
            timestamp: "Fri Jan 05 08:00:00 UTC 2027")
        #expect(
            try await pool.refusal("RespondToAuthChallenge", proof)
                == .invalidParameter("TIMESTAMP format should be EEE MMM d HH:mm:ss z yyyy in english"))
    }

    @Test(
        "A public value that gives the key away is refused",
        arguments: ["0", "00", "x", String(repeating: "f", count: 3000)])
    func publicValues(value: String) async throws {
        var request = Self.start(TestPool.email, try SRPClient(random: [5]))
        var parameters = try #require(request["AuthParameters"]?.objectValue)
        parameters["SRP_A"] = .string(value)
        request["AuthParameters"] = .object(parameters)
        #expect(try await TestPool().refusal("InitiateAuth", request) == .invalidParameter("Invalid SRP_A"))
    }
}
