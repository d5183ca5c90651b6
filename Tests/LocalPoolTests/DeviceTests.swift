import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("Devices")
struct DeviceTests {
    static let secret = "a device's own secret"

    /// Signs in, confirms the new device, and gives its keys and the tokens.
    static func confirmed(_ pool: TestPool) async throws -> (key: String, group: String, tokens: JSONObject) {
        let tokens = try await pool.signedIn()
        let device = try #require(tokens["NewDeviceMetadata"]?.objectValue)
        let (key, group) = (try device.text("DeviceKey"), try device.text("DeviceGroupKey"))
        let salt = SRPNumber(SecureRandom.bytes(16))
        let verifier = try SRPIdentity(deviceGroupKey: group, deviceKey: key).verifier(
            salt: salt, password: Secret(secret))
        let answer = try await pool.pool.answer(
            "ConfirmDevice",
            [
                "AccessToken": .string(try tokens.text("AccessToken")), "DeviceKey": .string(key),
                "DeviceName": "a telephone",
                "DeviceSecretVerifierConfig": [
                    "PasswordVerifier": .string(Base64.encode(verifier.padded)),
                    "Salt": .string(Base64.encode(salt.padded)),
                ],
            ])
        #expect(answer["UserConfirmationNecessary"]?.boolValue == (pool.pool.configuration.devices == .optIn))
        return (key, group, tokens)
    }

    /// Signs in with the device key; the answer to the password.
    static func signIn(_ pool: TestPool, _ key: String) async throws -> JSONObject {
        var request = TestPool.signIn(TestPool.email)
        var parameters = try #require(request["AuthParameters"]?.objectValue)
        parameters["DEVICE_KEY"] = .string(key)
        request["AuthParameters"] = .object(parameters)
        return try await pool.pool.answer("InitiateAuth", request)
    }

    @Test("A remembered device proves its secret after the password", arguments: [true, false])
    func signIn(sendingSession: Bool) async throws {
        let pool = try TestPool { $0.devices = .always }
        let (key, group, _) = try await Self.confirmed(pool)
        let first = try await Self.signIn(pool, key)
        #expect(first["ChallengeName"] == "DEVICE_SRP_AUTH")
        let client = try SRPClient(random: SecureRandom.bytes(32))
        var start: JSONObject = [
            "ClientId": .string(TestPool.clientID), "ChallengeName": "DEVICE_SRP_AUTH",
            "ChallengeResponses": [
                "USERNAME": .string(TestPool.email), "DEVICE_KEY": .string(key),
                "SRP_A": .string(client.publicValue.hex), "SECRET_HASH": TestPool.secretHash(TestPool.email),
            ],
        ]
        if sendingSession { start["Session"] = first["Session"] }
        let second = try await pool.pool.answer("RespondToAuthChallenge", start)
        #expect(second["ChallengeName"] == "DEVICE_PASSWORD_VERIFIER")
        let parameters = try #require(second["ChallengeParameters"]?.objectValue)
        let identity = SRPIdentity(deviceGroupKey: group, deviceKey: key)
        let proof = try SRPSignInTests.proof(
            parameters, client, password: Self.secret, identity: identity, challenge: "DEVICE_PASSWORD_VERIFIER")
        let tokens = try await pool.tokens("RespondToAuthChallenge", proof)
        #expect(tokens["NewDeviceMetadata"] == nil)
        #expect(try claims(tokens.text("AccessToken"))["device_key"] == .string(key))
        // Without the password first there is no challenge to answer.
        start["Session"] = nil
        #expect(try await pool.refusal("RespondToAuthChallenge", start) == .invalidSession)
    }

    @Test("A wrong device secret is refused")
    func wrongSecret() async throws {
        let pool = try TestPool { $0.devices = .always }
        let (key, group, _) = try await Self.confirmed(pool)
        _ = try await Self.signIn(pool, key)
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let second = try await pool.pool.answer(
            "RespondToAuthChallenge",
            [
                "ClientId": .string(TestPool.clientID), "ChallengeName": "DEVICE_SRP_AUTH",
                "ChallengeResponses": [
                    "USERNAME": .string(TestPool.email), "DEVICE_KEY": .string(key),
                    "SRP_A": .string(client.publicValue.hex), "SECRET_HASH": TestPool.secretHash(TestPool.email),
                ],
            ])
        let proof = try SRPSignInTests.proof(
            try #require(second["ChallengeParameters"]?.objectValue), client, password: "another",
            identity: SRPIdentity(deviceGroupKey: group, deviceKey: key), challenge: "DEVICE_PASSWORD_VERIFIER")
        #expect(try await pool.refusal("RespondToAuthChallenge", proof) == .badCredentials)
    }

    @Test("A confirmed device's refresh token is good with its key only")
    func refresh() async throws {
        let pool = try TestPool { $0.devices = .always }
        let (key, _, tokens) = try await Self.confirmed(pool)
        var request = TestPool.getTokens(try tokens.text("RefreshToken"))
        #expect(try await pool.refusal("GetTokensFromRefreshToken", request) == .invalidRefreshToken)
        request["DeviceKey"] = .string(key)
        _ = try await pool.tokens("GetTokensFromRefreshToken", request)
    }

    @Test("A device of an opt-in pool is remembered when the user says so, and its tokens end when it is forgotten")
    func optIn() async throws {
        let pool = try TestPool { $0.devices = .optIn }
        let (key, _, tokens) = try await Self.confirmed(pool)
        #expect(try await Self.signIn(pool, key)["AuthenticationResult"] != nil)
        var request: JSONObject = [
            "AccessToken": .string(try tokens.text("AccessToken")), "DeviceKey": .string(key),
            "DeviceRememberedStatus": "remembered",
        ]
        _ = try await pool.pool.answer("UpdateDeviceStatus", request)
        #expect(try await Self.signIn(pool, key)["ChallengeName"] == "DEVICE_SRP_AUTH")
        let devices = try #require(try await pool.pool.answer("ListDevices", request)["Devices"]?.arrayValue)
        #expect(devices.map { $0["DeviceKey"] } == [.string(key)])
        _ = try await pool.pool.answer("ForgetDevice", request)
        #expect(try await pool.refusal("GetUser", request) == .revokedAccessToken)
        request = TestPool.signIn(TestPool.email)
        let refusal = try #require(await #expect(throws: PoolError.self) { try await Self.signIn(pool, key) })
        #expect(refusal == .noDevice)
    }

    @Test("Devices are listed in pages, and the last one has no token")
    func pages() async throws {
        let pool = try TestPool { $0.devices = .always }
        var keys: Set<String> = []
        var request: JSONObject = ["Limit": 2]
        for _ in 0..<3 {
            let (key, _, tokens) = try await Self.confirmed(pool)
            keys.insert(key)
            request["AccessToken"] = .string(try tokens.text("AccessToken"))
        }
        let first = try await pool.pool.answer("ListDevices", request)
        request["PaginationToken"] = first["PaginationToken"]
        let last = try await pool.pool.answer("ListDevices", request)
        #expect(last["PaginationToken"] == nil)
        let pages = [first, last].map { $0["Devices"]?.arrayValue ?? [] }
        #expect(pages.map(\.count) == [2, 1])
        #expect(Set(pages.joined().compactMap { $0["DeviceKey"]?.stringValue }) == keys)
        for (name, wrong) in [("Limit", 61), ("Limit", "many"), ("PaginationToken", "no token")] as [(String, JSON)] {
            var asked = request
            asked[name] = wrong
            let refusal = try await pool.refusal("ListDevices", asked)
            #expect(refusal.type == "InvalidParameterException", "\(name): \(wrong)")
        }
    }
}
