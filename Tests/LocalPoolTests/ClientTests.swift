import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("The app client")
struct ClientTests {
    /// Computed by an independent implementation.
    static let vectors = [
        ("jane@example.com", "Cf1JvEjoF820HNg0CEUABTdNcTSIm+IzGEdefwTPSSc="),
        ("f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d", "WFIbnllLnw1Q2Uk3ye+X/KxakJ6Irz/N2Qy0+vj26nQ="),
        ("jörg", "g8MD7wTcDLGTkr68iGvZdqR1/Rfc9hRrtWBnrblbibQ="),
    ]

    @Test("SECRET_HASH is HMAC-SHA256 over user name and client id", arguments: vectors)
    func secretHash(username: String, expected: String) {
        let client = ClientAuthentication(
            clientID: TestPool.clientID, secret: Secret(TestPool.clientSecret))
        #expect(client.secretHash(username: username) == expected)
    }

    static let operations: [(String, JSONObject)] = [
        ("SignUp", TestPool.signUp("new@example.com")),
        ("ConfirmSignUp", TestPool.confirm("new@example.com", code: "123456")),
    ]

    @Test("An operation without a secret hash is refused", arguments: operations)
    func missingHash(operation: String, request: JSONObject) async throws {
        var request = request
        request["SecretHash"] = nil
        #expect(
            try await TestPool().refusal(operation, request)
                == .notAuthorized(
                    "Client \(TestPool.clientID) is configured with secret but SECRET_HASH was not received"))
    }

    @Test("A hash over another user name is refused", arguments: operations)
    func wrongHash(operation: String, request: JSONObject) async throws {
        var request = request
        request["SecretHash"] = TestPool.secretHash("other@example.com")
        #expect(
            try await TestPool().refusal(operation, request)
                == .notAuthorized("Unable to verify secret hash for client \(TestPool.clientID)"))
    }

    @Test("A client without a secret must not send a hash", arguments: operations)
    func needlessHash(operation: String, request: JSONObject) async throws {
        let pool = try TestPool { $0.clients = [.init(id: TestPool.clientID, secret: nil)] }
        #expect(
            try await pool.refusal(operation, request)
                == .invalidParameter(
                    "App client \(TestPool.clientID) is not configured for secret but secret hash was received"))
    }

    @Test("Sign-in checks the hash before the password")
    func signInHash() async throws {
        let pool = try TestPool()
        var request = TestPool.signIn(TestPool.email)
        request["AuthParameters"] = ["USERNAME": .string(TestPool.email), "PASSWORD": .string(TestPool.password)]
        #expect(try await pool.refusal("InitiateAuth", request).message.hasSuffix("SECRET_HASH was not received"))
        request["AuthParameters"] = [
            "USERNAME": .string(TestPool.email), "PASSWORD": "wrong-password",
            "SECRET_HASH": TestPool.secretHash(TestPool.email.lowercased()),
        ]
        #expect(try await pool.refusal("InitiateAuth", request).message.hasPrefix("Unable to verify secret hash"))
    }

    @Test(
        "Another client id is refused",
        arguments: operations + [
            ("InitiateAuth", TestPool.signIn(TestPool.email)), ("GetTokensFromRefreshToken", TestPool.getTokens("x")),
        ])
    func unknownClient(operation: String, request: JSONObject) async throws {
        var request = request
        request["ClientId"] = "another"
        #expect(
            try await TestPool().refusal(operation, request)
                == PoolError(type: "ResourceNotFoundException", message: "User pool client another does not exist."))
    }
}
