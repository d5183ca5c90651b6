import Cryptography
import Encoding
import Pipeline
import Testing

/// The numbers in the names are rows of the threat list: `exp`, `nbf` and `iat`.
@Suite("Verify: times")
struct VerifyTimesTests {
    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    static let expiries: [(text: String, reason: RejectReason?)] = [
        ("1780000001", nil), ("1780000001.75", nil), ("1780000001.00000000000000000001", nil), ("1.780000001e9", nil),
        ("17800000.01E+2", nil), ("253402300800", nil), ("1779999941", nil), ("1779999940", .expired),
        ("1779999940.9", .expired), ("0", .expired), ("-1", .expired), ("-1e10", .expired), ("1e-400", .expired),
        ("\"1780003600\"", .expiryInvalid), ("true", .expiryInvalid), ("null", .expiryInvalid), ("[]", .expiryInvalid),
        ("1e400", .expiryInvalid), ("-1e400", .expiryInvalid), ("9223372036854775807", .expiryInvalid),
        ("9223372036854775808", .expiryInvalid), ("1000000000000000000000000000000", .expiryInvalid),
        ("-9223372036854775809", .expiryInvalid), ("1e99999999999999999999", .expiryInvalid),
        ("9007199254740992", nil), ("9007199254740993", .expiryInvalid), ("NaN", .malformedPayload),
        ("Infinity", .malformedPayload),
        ("01780003600", .malformedPayload), ("1780003600.", .malformedPayload), ("0x6A18CE10", .malformedPayload),
    ]

    @Test("Row 13, 14: exp is a number, in whatever notation, and never overflows", arguments: expiries)
    func expiry(text: String, reason: RejectReason?) throws {
        let token = try fixture.token(member: "\"exp\":\(text)", replacing: "exp")
        #expect(fixture.reason(token) == reason)
        #expect((fixture.verified(token) != nil) == (reason == nil))
    }

    @Test("Row 13: A token without exp is refused")
    func noExpiry() throws {
        #expect(
            fixture.reason(try fixture.token(claims: VerifyFixture.accessClaims.with("exp", nil))) == .expiryInvalid)
    }

    @Test("Row 13: A token ends 60 seconds behind its exp, and only a token right in all else is called expired")
    func expired() throws {
        let token = try fixture.token()
        #expect(fixture.verified(token, now: 1_780_003_659) != nil)
        #expect(fixture.reason(token, now: 1_780_003_660) == .expired)
        #expect(fixture.reason(token, now: .max / 2) == .expired)
        let forged = try fixture.token(signedBy: fixture.otherKey)
        #expect(fixture.reason(forged, now: 1_780_003_660) == .badSignature)
        for (name, reason) in [
            ("client_id", RejectReason.clientNotAllowed), ("sub", .subjectInvalid), ("token_use", .tokenUseInvalid),
        ] {
            let token = try fixture.token(claims: VerifyFixture.accessClaims.with(name, "").with("exp", 1))
            #expect(fixture.reason(token) == reason)
        }
    }

    static let pastDates: [(claim: String, text: String, reason: RejectReason?)] = [
        ("nbf", "1780000060", nil), ("nbf", "1780000061", .notYetValid), ("nbf", "-5", nil), ("nbf", "1.78e9", nil),
        ("nbf", "\"1780000000\"", .notBeforeInvalid), ("nbf", "null", .notBeforeInvalid),
        ("nbf", "1e400", .notBeforeInvalid), ("iat", "1780000060", nil), ("iat", "1780000061", .issuedInFuture),
        ("iat", "1780003600", .issuedInFuture), ("iat", "-1", nil), ("iat", "\"1780000000\"", .issuedAtInvalid),
        ("iat", "true", .issuedAtInvalid), ("iat", "9223372036854775808", .issuedAtInvalid),
    ]

    @Test("Row 15, 16: nbf and iat lie in the past, but for 60 seconds", arguments: pastDates)
    func pastDate(claim: String, text: String, reason: RejectReason?) throws {
        let token = try fixture.token(member: "\"\(claim)\":\(text)", replacing: claim)
        #expect(fixture.reason(token) == reason)
        #expect((fixture.verified(token) != nil) == (reason == nil))
    }

    @Test("iat may be missing")
    func noIssuedAt() throws {
        let token = try fixture.token(claims: VerifyFixture.accessClaims.with("iat", nil))
        #expect(try #require(fixture.verified(token)).issuedAt == nil)
    }
}
