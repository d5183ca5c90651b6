import Cryptography
import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Sessions

@Suite("What an identity token of Apple's must say")
struct AppleIdentityTests {
    typealias Fixture = AppleFixture

    static func identity(
        _ changes: [(String, JSON?)] = [], _ proof: AppleIdentityRules.Proof = Fixture.proof(),
        _ rules: AppleIdentityRules = Fixture.rules
    ) throws -> AppleIdentity {
        try rules.identity(of: Fixture.token(changes), shownWith: proof, now: Fixture.now)
    }

    static func reason(
        _ changes: [(String, JSON?)] = [], _ proof: AppleIdentityRules.Proof = Fixture.proof()
    ) -> String? {
        do {
            _ = try identity(changes, proof)
            return nil
        } catch let refusal as Refusal {
            #expect(refusal.error == .notAuthorized)
            #expect(refusal.message == "The sign-in with Apple could not be verified.")
            return refusal.reason.code
        } catch {
            return "\(error)"
        }
    }

    @Test("The identity is the token's")
    func whole() throws {
        let identity = try Self.identity([], Fixture.proof(code: Fixture.code, userIdentifier: Fixture.subject))
        #expect(
            identity
                == AppleIdentity(
                    issuer: Fixture.issuer, subject: Fixture.subject, audience: Fixture.app, role: "customer",
                    email: "relay@privaterelay.appleid.com", isPrivateEmail: true, realUserStatus: .likelyReal,
                    expires: Fixture.now + 86_400, issuedAt: Fixture.now - 5))
    }

    @Test("Each app has its role")
    func roles() throws {
        #expect(try Self.identity([("aud", .string(Fixture.driverApp))]).role == "driver")
        #expect(Self.reason([("aud", "com.example.app.other")]) == "audience-not-allowed")
        #expect(Self.reason([("aud", "COM.example.app")]) == "audience-not-allowed")
    }

    static let nonces: [(name: String, claim: JSON?, nonce: String, reason: String)] = [
        ("no claim", nil, Fixture.nonce, "nonce-missing"),
        ("null", .null, Fixture.nonce, "nonce-missing"),
        ("a list", [.string(Fixture.nonceClaim)], Fixture.nonce, "nonce-missing"),
        ("empty claim", "", Fixture.nonce, "nonce-mismatch"),
        ("empty nonce", .string(Hexadecimal.encode(SHA256.hash([]))), "", "nonce-mismatch"),
        ("another nonce", .string(Fixture.nonceClaim), "n-0S6_WzA2Mj-raw-nonce-0123456788", "nonce-mismatch"),
        ("the claim itself", .string(Fixture.nonceClaim), Fixture.nonceClaim, "nonce-mismatch"),
        ("raw in both", .string(Fixture.nonce), Fixture.nonce, "nonce-mismatch"),
        ("upper case", .string(Fixture.nonceClaim.uppercased()), Fixture.nonce, "nonce-mismatch"),
        ("base64url", "I3CjcHduvb4G3FXuEy9Ek9uK_Z_HhGScKzwOgIrgT_k", Fixture.nonce, "nonce-mismatch"),
        ("cut short", .string(String(Fixture.nonceClaim.dropLast())), Fixture.nonce, "nonce-mismatch"),
        ("with more", .string(Fixture.nonceClaim + "0"), Fixture.nonce, "nonce-mismatch"),
    ]

    @Test("Only the hash of the nonce shown will do", arguments: nonces)
    func nonce(_ test: (name: String, claim: JSON?, nonce: String, reason: String)) {
        let reason = Self.reason([("nonce", test.claim)], Fixture.proof(nonce: test.nonce))
        #expect(reason == test.reason, "\(test.name)")
    }

    static let ages: [(issuedAt: JSON?, reason: String?)] = [
        (.number(JSONNumber(Fixture.now - 600)), nil), (.number(JSONNumber(Fixture.now + 60)), nil),
        (.number(JSONNumber(Fixture.now - 601)), "identity-token-too-old"), (nil, "identity-token-too-old"),
        (.number(JSONNumber(Fixture.now + 61)), "issued-in-future"), (0, "identity-token-too-old"),
    ]

    @Test("A token is used soon after its issue", arguments: ages)
    func age(_ test: (issuedAt: JSON?, reason: String?)) {
        #expect(Self.reason([("iat", test.issuedAt)]) == test.reason)
    }

    @Test("How long that is can be said")
    func configuredAge() throws {
        var rules = Fixture.rules
        rules.maximumAge = 10
        #expect(throws: Refusal.self) {
            try Self.identity([("iat", .number(JSONNumber(Fixture.now - 11)))], Fixture.proof(), rules)
        }
        _ = try Self.identity([("iat", .number(JSONNumber(Fixture.now - 10)))], Fixture.proof(), rules)
    }

    static let codes: [(name: String, claim: JSON?, code: String?, reason: String?)] = [
        ("its own", .string(Fixture.codeClaim), Fixture.code, nil),
        ("another", .string(Fixture.codeClaim), "c1234567890abcdef.0.example.codf", "authorization-code-mismatch"),
        ("no claim", nil, Fixture.code, nil),
        ("no code", .string(Fixture.codeClaim), nil, nil),
        ("null", .null, Fixture.code, "authorization-code-mismatch"),
        ("the code itself", .string(Fixture.code), Fixture.code, "authorization-code-mismatch"),
        ("empty claim", "", Fixture.code, "authorization-code-mismatch"),
    ]

    @Test("An authorization code is the one that came with the token", arguments: codes)
    func code(_ test: (name: String, claim: JSON?, code: String?, reason: String?)) {
        #expect(Self.reason([("c_hash", test.claim)], Fixture.proof(code: test.code)) == test.reason, "\(test.name)")
    }

    @Test("A user identifier beside the token is only compared with it")
    func userIdentifier() {
        #expect(Self.reason([], Fixture.proof(userIdentifier: Fixture.subject)) == nil)
        #expect(Self.reason([], Fixture.proof(userIdentifier: "another")) == "user-identifier-mismatch")
        #expect(Self.reason([], Fixture.proof(userIdentifier: "")) == "user-identifier-mismatch")
    }

    static let emails: [(changes: [(String, JSON?)], email: String?, isPrivate: Bool?)] = [
        ([("email_verified", "true"), ("is_private_email", "true")], "relay@privaterelay.appleid.com", true),
        ([("is_private_email", false), ("email", "ada@example.com")], "ada@example.com", false),
        ([("is_private_email", "false")], "relay@privaterelay.appleid.com", false),
        ([("is_private_email", nil)], "relay@privaterelay.appleid.com", nil),
        ([("email_verified", false)], nil, nil), ([("email_verified", "false")], nil, nil),
        ([("email_verified", nil)], nil, nil), ([("email_verified", 1)], nil, nil),
        ([("email_verified", "TRUE")], nil, nil), ([("email", nil)], nil, nil), ([("email", "")], nil, nil),
        ([("email", "no address")], nil, nil), ([("email", "a@b\r\nX-Role: admin")], nil, nil),
        ([("email", "<script>@example.com")], nil, nil), ([("email", ["ada@example.com"])], nil, nil),
        (
            [("email", .string(String(repeating: "a", count: 250) + "@b.c"))],
            String(repeating: "a", count: 250) + "@b.c", true
        ),
        ([("email", .string(String(repeating: "a", count: 251) + "@b.c"))], nil, nil),
    ]

    @Test("An e-mail address counts when Apple has verified it", arguments: emails)
    func email(_ test: (changes: [(String, JSON?)], email: String?, isPrivate: Bool?)) throws {
        let identity = try Self.identity(test.changes)
        #expect(identity.email == test.email)
        #expect(identity.isPrivateEmail == test.isPrivate)
    }

    static let statuses: [(claim: JSON?, name: String?)] = [
        (0, "unsupported"), (1, "unknown"), (2, "likely_real"), (3, nil), (nil, nil), ("2", nil), (2.5, nil),
    ]

    @Test("Apple's guess about the user is one of three", arguments: statuses)
    func realUserStatus(_ test: (claim: JSON?, name: String?)) throws {
        #expect(try Self.identity([("real_user_status", test.claim)]).realUserStatus?.name == test.name)
    }
}
