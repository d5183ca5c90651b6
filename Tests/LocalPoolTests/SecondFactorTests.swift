import Cryptography
import Encoding
import Testing

@testable import LocalPool

extension TestPool {
    func answer(_ operation: String, _ request: JSONObject) async throws -> JSONObject {
        try await pool.answer(operation, request, by: .administrator)
    }

    /// The answer to a challenge with a session.
    static func respond(
        _ challenge: JSONObject, _ responses: JSONObject, username: String = email
    ) throws -> JSONObject {
        var all = responses
        all["USERNAME"] = .string(username)
        all["SECRET_HASH"] = secretHash(username)
        return [
            "ClientId": .string(clientID), "ChallengeName": .string(try challenge.text("ChallengeName")),
            "Session": .string(try challenge.text("Session")), "ChallengeResponses": .object(all),
        ]
    }

    /// Gives the user an authenticator app that is asked for; its key.
    func withSoftwareToken() async throws -> Secret {
        let token = JSON.string(try await signedIn().text("AccessToken"))
        let key = try #require(Self.key(try await pool.answer("AssociateSoftwareToken", ["AccessToken": token])))
        _ = try await pool.answer("VerifySoftwareToken", ["AccessToken": token, "UserCode": code(key)])
        clock.advance(30)
        _ = try await pool.answer(
            "SetUserMFAPreference",
            ["AccessToken": token, "SoftwareTokenMfaSettings": ["Enabled": true, "PreferredMfa": true]])
        return key
    }

    func code(_ key: Secret) -> JSON {
        .string(OneTimePassword.code(key: key, counter: OneTimePassword.counter(at: clock.now)))
    }

    /// The key of a base 32 text without padding.
    static func key(_ answer: JSONObject) -> Secret? {
        guard let text = answer["SecretCode"]?.stringValue else { return nil }
        var (bytes, bits, count) = ([UInt8](), UInt32(0), UInt32(0))
        for character in text.utf8 {
            guard let value = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8).firstIndex(of: character) else {
                return nil
            }
            bits = (bits << 5 | UInt32(value)) & 0xfff
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return Secret(bytes)
    }
}

@Suite("Second factors and sessions")
struct SecondFactorTests {
    @Test("An authenticator app's code is asked for, and good once; a wrong one can be tried again")
    func softwareToken() async throws {
        let pool = try TestPool()
        let key = try await pool.withSoftwareToken()
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        #expect(challenge["ChallengeName"] == "SOFTWARE_TOKEN_MFA")
        let wrong = try TestPool.respond(challenge, ["SOFTWARE_TOKEN_MFA_CODE": "abcdef"])
        #expect(try await pool.refusal("RespondToAuthChallenge", wrong) == .codeMismatch)
        let right = try TestPool.respond(challenge, ["SOFTWARE_TOKEN_MFA_CODE": pool.code(key)])
        _ = try await pool.tokens("RespondToAuthChallenge", right)
        #expect(try await pool.refusal("RespondToAuthChallenge", right) == .usedSession)
        let again = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        let replayed = try TestPool.respond(again, ["SOFTWARE_TOKEN_MFA_CODE": pool.code(key)])
        #expect(try await pool.refusal("RespondToAuthChallenge", replayed) == .softwareTokenReused)
    }

    @Test("After five wrong codes, or three minutes, the session is worth nothing")
    func endOfSession() async throws {
        let pool = try TestPool()
        let key = try await pool.withSoftwareToken()
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        let wrong = try TestPool.respond(challenge, ["SOFTWARE_TOKEN_MFA_CODE": "abcdef"])
        for _ in 0..<5 { #expect(try await pool.refusal("RespondToAuthChallenge", wrong) == .codeMismatch) }
        let right = try TestPool.respond(challenge, ["SOFTWARE_TOKEN_MFA_CODE": pool.code(key)])
        #expect(try await pool.refusal("RespondToAuthChallenge", right) == .usedSession)
        let other = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        pool.clock.advance(180)
        let late = try TestPool.respond(other, ["SOFTWARE_TOKEN_MFA_CODE": pool.code(key)])
        #expect(try await pool.refusal("RespondToAuthChallenge", late) == .expiredSession)
    }

    @Test("A session is good for its own challenge, user and client only")
    func otherSessions() async throws {
        let pool = try TestPool {
            $0.users.append(.init(email: "other@example.com", password: Secret("correct-horse-3")))
        }
        let key = try await pool.withSoftwareToken()
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        let stranger = try TestPool.respond(
            challenge, ["SOFTWARE_TOKEN_MFA_CODE": pool.code(key)], username: "other@example.com")
        #expect(try await pool.refusal("RespondToAuthChallenge", stranger) == .invalidSession)
        var renamed = try TestPool.respond(challenge, ["NEW_PASSWORD": "another-password"])
        renamed["ChallengeName"] = "NEW_PASSWORD_REQUIRED"
        #expect(try await pool.refusal("RespondToAuthChallenge", renamed) == .invalidSession)
    }

    @Test("A code by e-mail or by message is delivered, and asked for by the user's choice")
    func choice() async throws {
        let pool = try TestPool { $0.users[0].attributes["phone_number"] = "+15551234567" }
        let token = JSON.string(try await pool.signedIn().text("AccessToken"))
        _ = try await pool.answer(
            "SetUserMFAPreference",
            ["AccessToken": token, "SMSMfaSettings": ["Enabled": true], "EmailMfaSettings": ["Enabled": true]])
        for (choice, name, address) in [
            ("SMS_MFA", "SMS_MFA", "+15551234567"), ("EMAIL_MFA", "EMAIL_OTP", TestPool.email),
        ] {
            let select = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
            #expect(select["ChallengeName"] == "SELECT_MFA_TYPE")
            #expect(select["ChallengeParameters"]?["MFAS_CAN_CHOOSE"] == #"["SMS_MFA","EMAIL_OTP"]"#)
            let challenge = try await pool.answer(
                "RespondToAuthChallenge", try TestPool.respond(select, ["ANSWER": .string(choice)]))
            #expect(challenge["ChallengeName"] == .string(name))
            let code = try await pool.code(for: address)
            _ = try await pool.tokens(
                "RespondToAuthChallenge", try TestPool.respond(challenge, ["\(name)_CODE": .string(code)]))
        }
    }

    @Test("A pool that requires a second factor sets one up during the sign-in")
    func setup() async throws {
        let pool = try TestPool { $0.mfa.mode = .required }
        let first = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        #expect(first["ChallengeName"] == "MFA_SETUP")
        #expect(
            try await pool.refusal("RespondToAuthChallenge", try TestPool.respond(first, [:])) == .softwareTokenNotFound
        )
        let associated = try await pool.answer("AssociateSoftwareToken", ["Session": first["Session"] ?? ""])
        let key = try #require(TestPool.key(associated))
        var verify: JSONObject = ["Session": associated["Session"] ?? "", "UserCode": "abcdef"]
        #expect(try await pool.refusal("VerifySoftwareToken", verify) == .softwareTokenNotEnabled)
        verify["UserCode"] = pool.code(key)
        var last = try await pool.answer("VerifySoftwareToken", verify)
        last["ChallengeName"] = "MFA_SETUP"
        _ = try await pool.tokens("RespondToAuthChallenge", try TestPool.respond(last, [:]))
        let next = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        #expect(next["ChallengeName"] == "SOFTWARE_TOKEN_MFA")
    }
}
