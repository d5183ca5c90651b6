import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito
@testable import Sealing
@testable import Sessions

@Suite("Sealed challenges and devices")
struct SealedTextTests {
    private static let credentials = DeviceCredentials(
        key: "eu-west-1_key", groupKey: "-group", password: Secret("device-password"))
    private static let device = SealedDevice(
        credentials: credentials, username: Fixture.username, account: Fixture.email, expiresAt: Fixture.now + 60)

    private static func challenge(_ device: DeviceCredentials? = nil, deviceID: String? = nil) -> SealedChallenge {
        SealedChallenge(
            name: "SMS_MFA", session: "session-of-cognito", username: Fixture.username, account: Fixture.email,
            rememberMe: false, deviceID: deviceID, device: device, expiresAt: Fixture.now)
    }

    private static func seal(_ purpose: SealedText.Purpose) throws -> Secret {
        let ring = try Fixture.ring()
        switch purpose {
        case .refreshToken: return try Fixture.sealedText()
        case .challenge: return try challenge().sealed(with: ring, poolID: Fixture.poolID)
        case .device: return try device.sealed(with: ring, poolID: Fixture.poolID)
        case .answer, .session, .appleToken, .hostedSignIn, .authorizationCode, .shared, .keyRing, .certificates:
            return try SealedText.seal([1], as: purpose, with: ring, poolID: Fixture.poolID)
        case .nonce:
            return try AppleNonce(expiresAt: 1, random: [UInt8](repeating: 1, count: 16))
                .sealed(with: ring, issuer: Fixture.poolID)
        }
    }

    @Test("What is sealed opens as it was")
    func roundTrip() throws {
        let ring = try Fixture.ring()
        for (credentials, deviceID) in [(nil, nil), (Self.credentials, "d-1"), (nil, "")]
            as [(DeviceCredentials?, String?)]
        {
            let sealed = try Self.challenge(credentials, deviceID: deviceID)
                .sealed(with: ring, poolID: Fixture.poolID)
            let opened = try SealedChallenge(opening: sealed, with: ring, poolID: Fixture.poolID)
            #expect(opened.name == "SMS_MFA")
            #expect(opened.session == "session-of-cognito")
            #expect(opened.username == Fixture.username)
            #expect(opened.account == Fixture.email)
            #expect(!opened.rememberMe)
            #expect(opened.deviceID == deviceID)
            #expect(opened.device == credentials)
            #expect(opened.expiresAt == Fixture.now)
        }
        let device = try SealedDevice(opening: Self.seal(.device), with: ring, poolID: Fixture.poolID)
        #expect(device == Self.device)
    }

    @Test("What was sealed for one purpose opens for no other, though key and pool are the same")
    func purposes() throws {
        let ring = try Fixture.ring()
        let all: [SealedText.Purpose] = [
            .refreshToken, .challenge, .device, .answer, .nonce, .appleToken, .session, .hostedSignIn,
            .authorizationCode, .shared, .keyRing,
        ]
        for sealed in all {
            let text = try Self.seal(sealed)
            for opened in all {
                let plain = try? SealedText.open(text, as: opened, with: ring, poolID: Fixture.poolID)
                #expect((plain != nil) == (sealed == opened), "\(sealed) as \(opened)")
            }
        }
    }

    @Test("A change to any bit, or another pool, is refused", arguments: [SealedText.Purpose.challenge, .device])
    func changes(purpose: SealedText.Purpose) throws {
        let ring = try Fixture.ring()
        let text = try Self.seal(purpose).expose()
        #expect(throws: InvalidSealedToken()) {
            try SealedText.open(Secret(text), as: purpose, with: ring, poolID: "eu-west-1_Other")
        }
        for position in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[position] ^= 1 << UInt8(bit)
                #expect(throws: InvalidSealedToken(), "byte \(position), bit \(bit)") {
                    try SealedText.open(Secret(changed), as: purpose, with: ring, poolID: Fixture.poolID)
                }
            }
        }
    }

    @Test("The form for the store opens as it was, and neither changed, nor for another pool or purpose")
    func bytes() throws {
        let ring = try Fixture.ring()
        let plain = [UInt8](0..<100)
        let sealed = try SealedText.sealBytes(plain, as: .authorizationCode, with: ring, poolID: Fixture.poolID)
        func opened(_ bytes: [UInt8], as purpose: SealedText.Purpose, _ poolID: String) -> [UInt8]? {
            try? SealedText.open(bytes: bytes, as: purpose, with: ring, poolID: poolID)
        }
        #expect(opened(sealed, as: .authorizationCode, Fixture.poolID) == plain)
        #expect(opened(sealed, as: .authorizationCode, "eu-west-1_Other") == nil)
        #expect(opened(sealed, as: .answer, Fixture.poolID) == nil)
        for position in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[position] ^= 1 << UInt8(bit)
                #expect(opened(changed, as: .authorizationCode, Fixture.poolID) == nil, "byte \(position), bit \(bit)")
            }
        }
        for count in sealed.indices {
            #expect(opened(Array(sealed[..<count]), as: .authorizationCode, Fixture.poolID) == nil)
        }
        let text = try SealedText.seal(plain, as: .authorizationCode, with: ring, poolID: Fixture.poolID)
        #expect(opened(text.expose(), as: .authorizationCode, Fixture.poolID) == plain)
        // The same box in the other form.
        let parts = text.expose().split(separator: UInt8(ascii: "."))
        let box = try #require(Base64URL.decode(parts[2]))
        let disguised = Array("b2.".utf8) + parts[1] + [UInt8(ascii: ".")] + box
        #expect(opened(disguised, as: .authorizationCode, Fixture.poolID) == nil)
    }

    @Test("A challenge is good for 15 minutes, whatever Cognito says of its session")
    func expiry() async throws {
        let asked: JSON = ["ChallengeName": "SMS_MFA", "Session": "one", "ChallengeParameters": [:]]
        let session = try await Fixture.accounts(RecordedFetcher(Fixture.output(asked))).answer(Fixture.login())
            .json["session"]
        let answer = Fixture.request(
            .challenge, ["challenge": "SMS_MFA", "session": session ?? .null, "code": "123456"])
        for (later, status) in [(899, 200), (900, 401)] as [(Int64, Int)] {
            let fetcher = RecordedFetcher(Fixture.tokens())
            let given = try await Fixture.accounts(fetcher, now: Fixture.now + later).answer(answer)
            #expect(given.status.code == status)
            #expect(await fetcher.requests.count == (status == 200 ? 1 : 0))
        }
    }

    @Test("A device token is good until its end, and one from before there was an end is none")
    func deviceExpiry() async throws {
        let ring = try Fixture.ring()
        var endless = ByteWriter()
        #expect(
            Self.credentials.write(to: &endless) && endless.write(text: Fixture.username)
                && endless.write(text: Fixture.email))
        let old = try SealedText.seal(endless.bytes, as: .device, with: ring, poolID: Fixture.poolID)
        let token = try Self.seal(.device)
        for (text, later, isKnown) in [(token, 59, true), (token, 60, false), (old, 0, false)]
            as [(Secret, Int64, Bool)]
        {
            let (fetcher, observer) = (RecordedFetcher(Fixture.tokens()), RecordedCalls())
            let accounts = try Fixture.accounts(fetcher, now: Fixture.now + later, accountGuard: observer)
            let answer = await accounts.answer(Fixture.login(["device_token": .string(text.exposeText())]))
            #expect(await fetcher.bodies.first?["AuthParameters"]?["DEVICE_KEY"] == (isKnown ? "eu-west-1_key" : nil))
            let proven = isKnown ? "eu-west-1_key" : nil
            #expect(observer.entries.map(\.call.provenDevice) == [proven, proven])
            // The device's next token lives on from now.
            let next = answer.json["device_token"]?.stringValue.flatMap {
                try? SealedDevice(opening: Secret($0), with: ring, poolID: Fixture.poolID)
            }
            #expect(next?.expiresAt == (isKnown ? Fixture.now + later + 90 * 86_400 : nil))
        }
    }

    @Test("An answer goes to Cognito under the name that Cognito gave, with its hash and the device's key")
    func wire() async throws {
        let asked: JSON = [
            "ChallengeName": "SOFTWARE_TOKEN_MFA", "Session": "one",
            "ChallengeParameters": ["USERNAME": .string(Fixture.username)],
        ]
        let token = try Self.seal(.device).exposeText()
        let fetcher = RecordedFetcher(Fixture.output(asked), Fixture.tokens())
        let accounts = try Fixture.accounts(fetcher)
        let session = await accounts.answer(Fixture.login(["device_token": .string(token)])).json["session"] ?? .null
        _ = await accounts.answer(
            Fixture.request(.challenge, ["challenge": "SOFTWARE_TOKEN_MFA", "session": session, "code": "123456"]))
        let responses: JSON = [
            "SOFTWARE_TOKEN_MFA_CODE": "123456", "USERNAME": .string(Fixture.username),
            "SECRET_HASH": .string(Fixture.usernameHash), "DEVICE_KEY": "eu-west-1_key",
        ]
        let expected: JSON = [
            "ChallengeName": "SOFTWARE_TOKEN_MFA", "ClientId": .string(Fixture.clientID),
            "ChallengeResponses": responses, "Session": "one",
        ]
        #expect(await fetcher.bodies.last == expected)
        #expect(await fetcher.bodies.first?["AuthParameters"]?["DEVICE_KEY"] == "eu-west-1_key")
    }

    @Test(
        "A device that the pool has forgotten is left out of the rest of the sign-in",
        arguments: [
            ([:], "SOFTWARE_TOKEN_MFA"), (["password": .null, "factor": "EMAIL_OTP"], "EMAIL_OTP"),
            (["password": .null, "factor": "CUSTOM"], "CUSTOM_CHALLENGE"),
        ] as [(JSONObject, String)])
    func forgottenDevice(login: JSONObject, challenge: String) async throws {
        let asked: JSON = [
            "ChallengeName": .string(challenge), "Session": "one",
            "ChallengeParameters": ["USERNAME": .string(Fixture.username)],
        ]
        var login = login
        login["device_token"] = .string(try Self.seal(.device).exposeText())
        let fetcher = RecordedFetcher(
            Fixture.failure("ResourceNotFoundException", "Device does not exist."), Fixture.output(asked),
            Fixture.tokens())
        var settings = Fixture.settings()
        settings.choice.factors = [.email, .password]
        settings.choice.allowsCustom = true
        let accounts = try Fixture.accounts(fetcher, settings: settings)
        let session = await accounts.answer(Fixture.login(login)).json["session"] ?? .null
        let answer = await accounts.answer(
            Fixture.request(
                .challenge, ["challenge": .string(challenge), "session": session, "code": "123456", "answer": "123456"])
        )
        #expect(answer.status == .ok)
        #expect(answer.json["device_token"] == nil)
        let token = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(token), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.deviceKey == nil)
        let bodies = await fetcher.bodies
        #expect(bodies.count == 3)
        #expect(bodies.first?["AuthParameters"]?["DEVICE_KEY"] == "eu-west-1_key")
        for body in bodies.dropFirst() {
            let sent = body["AuthParameters"] ?? body["ChallengeResponses"]
            #expect(sent != nil && sent?["DEVICE_KEY"] == nil)
        }
    }

    @Test(
        "A device that the pool forgets while a challenge is open is left out of the answer to it",
        arguments: [
            ("ResourceNotFoundException", "Device does not exist."),
            ("InvalidParameterException", "Invalid device key given."),
        ] as [(String, String)])
    func forgottenLater(type: String, message: String) async throws {
        for proof in [SealedChallenge.Proof.given, .missing] {
            var challenge = Self.challenge(Self.credentials)
            (challenge.name, challenge.proof, challenge.expiresAt) = ("EMAIL_OTP", proof, Fixture.now + 60)
            let session = try challenge.sealed(with: Fixture.ring(), poolID: Fixture.poolID).exposeText()
            let fetcher = RecordedFetcher(Fixture.failure(type, message), Fixture.tokens())
            let answer = try await Fixture.accounts(fetcher).answer(
                Fixture.request(.challenge, ["challenge": "EMAIL_OTP", "session": .string(session), "code": "123456"]))
            #expect(answer.status == .ok, "\(proof)")
            #expect(answer.json["device_token"] == nil)
            let sent = await fetcher.bodies.map { $0["ChallengeResponses"] }
            #expect(sent.map { $0?["DEVICE_KEY"] } == ["eu-west-1_key", nil])
            #expect(sent.map { $0?["EMAIL_OTP_CODE"] } == ["123456", "123456"])
        }
    }

    @Test("The key of an authenticator app goes into the app whatever is in its names")
    func authenticatorKey() {
        let key = AuthenticatorKey(secret: "ABC234", account: "a+b@c.example", issuer: "Näme: & Co")
        #expect(
            key.uri == "otpauth://totp/N%C3%A4me%3A%20%26%20Co:a%2Bb%40c.example?secret=ABC234"
                + "&issuer=N%C3%A4me%3A%20%26%20Co&algorithm=SHA1&digits=6&period=30")
    }
}
