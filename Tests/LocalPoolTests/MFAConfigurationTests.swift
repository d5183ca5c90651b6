import Encoding
import Foundation
import Testing

@testable import LocalPool

@Suite("SetUserPoolMfaConfig")
struct MFAConfigurationTests {
    static func set(_ members: JSONObject) -> JSONObject {
        var request: JSONObject = ["UserPoolId": AdministratorTests.poolID]
        for (name, value) in members { request[name] = value }
        return request
    }

    @Test("A change is described, and signing in follows it at once")
    func change() async throws {
        let pool = try TestPool()
        let settings: JSONObject = [
            "MfaConfiguration": "ON", "EmailMfaConfiguration": ["Message": "Your code: {####}", "Subject": "Code"],
            "SoftwareTokenMfaConfiguration": ["Enabled": true],
        ]
        let answer = try await pool.answer("SetUserPoolMfaConfig", Self.set(settings))
        #expect(
            answer == [
                "MfaConfiguration": "ON", "SoftwareTokenMfaConfiguration": ["Enabled": true],
                "EmailMfaConfiguration": [:],
            ])
        #expect(try await pool.answer("GetUserPoolMfaConfig", Self.set([:])) == answer)
        let described = try await pool.answer("DescribeUserPool", Self.set([:]))
        #expect(described["UserPool"]?["MfaConfiguration"] == "ON")
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(TestPool.email))
        #expect(challenge["ChallengeName"] == "MFA_SETUP")
        #expect(challenge["ChallengeParameters"]?["MFAS_CAN_SETUP"] == #"["SOFTWARE_TOKEN_MFA","EMAIL_OTP"]"#)

        let off = try await pool.answer("SetUserPoolMfaConfig", Self.set(["MfaConfiguration": "OFF"]))
        #expect(off == ["MfaConfiguration": "OFF"])
        _ = try await pool.signedIn()
    }

    static let refused: [(JSONObject, String)] = [
        (["MfaConfiguration": "ON"], "can't disable all MFAs with a required or optional configuration."),
        (["MfaConfiguration": "OPTIONAL"], "can't disable all MFAs with a required or optional configuration."),
        (
            ["MfaConfiguration": "ON", "SoftwareTokenMfaConfiguration": ["Enabled": false]],
            "can't disable all MFAs with a required or optional configuration."
        ),
        (
            ["MfaConfiguration": "OFF", "SoftwareTokenMfaConfiguration": ["Enabled": true]],
            "can't turn off MFA and configure an MFA together."
        ),
        (
            ["MfaConfiguration": "OFF", "EmailMfaConfiguration": [:]],
            "can't turn off MFA and configure an MFA together."
        ),
        (["MfaConfiguration": "SOMETIMES"], "enum value set: [OFF, ON, OPTIONAL]"),
        (
            ["WebAuthnConfiguration": ["RelyingPartyId": "example.com", "UserVerification": "none"]],
            "enum value set: [required, preferred]"
        ),
        (["WebAuthnConfiguration": ["UserVerification": "required"]], "Member must not be null"),
    ]

    @Test("A configuration that contradicts itself is refused, and changes nothing", arguments: refused.indices)
    func refusal(index: Int) async throws {
        let pool = try TestPool()
        let before = try await pool.answer("GetUserPoolMfaConfig", Self.set([:]))
        let (settings, message) = Self.refused[index]
        let refusal = try #require(
            await #expect(throws: PoolError.self) {
                try await pool.answer("SetUserPoolMfaConfig", Self.set(settings))
            })
        #expect(refusal.type == "InvalidParameterException" && refusal.message.contains(message))
        #expect(try await pool.answer("GetUserPoolMfaConfig", Self.set([:])) == before)
    }

    @Test("A relying party is set by itself, and passkeys are for it")
    func relyingParty() async throws {
        let pool = try TestPool { $0.passwordless.firstFactors = [.password, .passkey] }
        let token = JSON.string(try await pool.signedIn().text("AccessToken"))
        let missing = try await pool.refusal("StartWebAuthnRegistration", ["AccessToken": token])
        #expect(missing.type == "WebAuthnConfigurationMissingException")
        let party: JSON = ["RelyingPartyId": "auth.example.com", "UserVerification": "required"]
        let before = try await pool.answer("GetUserPoolMfaConfig", Self.set([:]))
        let answer = try await pool.answer("SetUserPoolMfaConfig", Self.set(["WebAuthnConfiguration": party]))
        #expect(answer["WebAuthnConfiguration"] == party)
        #expect(answer["MfaConfiguration"] == before["MfaConfiguration"])
        let options = try await pool.pool.answer("StartWebAuthnRegistration", ["AccessToken": token])
        #expect(options["CredentialCreationOptions"]?["rp"]?["id"] == "auth.example.com")
        let selection = options["CredentialCreationOptions"]?["authenticatorSelection"]
        #expect(selection?["userVerification"] == "required")
    }

    @Test("A change outlives a restart, until the configuration changes")
    func restart() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "local-pool-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "pool.sqlite").path()
        func mode(_ change: (inout LocalPoolConfiguration) -> Void = { _ in }) async throws -> JSON? {
            let pool = try TestPool {
                $0.databasePath = path
                change(&$0)
            }
            return try await pool.answer("GetUserPoolMfaConfig", Self.set([:]))["MfaConfiguration"]
        }
        let first = try TestPool { $0.databasePath = path }
        _ = try await first.answer("SetUserPoolMfaConfig", Self.set(["MfaConfiguration": "OFF"]))
        #expect(try await mode() == "OFF")
        #expect(try await mode { $0.mfa.methods = ["SMS_MFA"] } == "OPTIONAL")
    }
}
