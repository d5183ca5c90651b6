import Cryptography
import Encoding
import Testing

@testable import Pipeline

@Suite("Verify: headers that are known already")
struct VerifyTokenHeadersTests {
    let fixture: VerifyFixture
    let headers = TokenHeaders()
    let verifier = TokenVerifier(issuers: [VerifyFixture.pool, VerifyFixture.otherPool])

    init() throws { fixture = try VerifyFixture() }

    func verdict(_ token: String) -> Verdict {
        let keySets = [fixture.keySet, fixture.otherKeySet]
        return verifier.verify(
            token.utf8.span, accepting: TokenAcceptance(tokenUses: [.access]), keys: { keySets[$0] },
            headers: headers, now: VerifyFixture.now)
    }

    func isVerified(_ token: String) -> Bool { if case .verified = verdict(token) { true } else { false } }

    func isKnown(_ token: String) throws -> Bool {
        headers.header(Array(try #require(token.split(separator: ".").first).utf8).span) != nil
    }

    @Test("A header is known once a signature over it was right, and not before")
    func remembering() throws {
        let forged = try fixture.token(signedBy: fixture.otherKey)
        #expect(!isVerified(forged))
        #expect(try !isKnown(forged))
        let token = try fixture.token()
        #expect(isVerified(token))
        #expect(try isKnown(token))
        #expect(!isVerified(forged))
        #expect(isVerified(try fixture.token(claims: VerifyFixture.accessClaims.with("sub", "another"))))
    }

    @Test("A known header confuses no two issuers: the key is still the named issuer's own")
    func twoIssuers() throws {
        // Both pools have a key of this name, each its own.
        #expect(isVerified(try fixture.token()))
        let claims = VerifyFixture.accessClaims.with("iss", .string(VerifyFixture.otherPool.issuer))
        guard case .rejected(.badSignature) = verdict(try fixture.token(claims: claims)) else {
            Issue.record("signed with a key that isn't the other pool's")
            return
        }
        #expect(isVerified(try fixture.token(claims: claims, signedBy: fixture.otherKey)))
        guard case .rejected(.badSignature) = verdict(try fixture.token(signedBy: fixture.otherKey)) else {
            Issue.record("signed with a key that isn't the pool's")
            return
        }
    }

    @Test("With a known header everything else is looked at as ever")
    func otherFaults() throws {
        let token = try fixture.token()
        #expect(isVerified(token))
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let cases: [(String, RejectReason)] = [
            ("\(parts[0]).\(parts[1])", .malformedToken), ("\(parts[0]).\(parts[1]).", .badSignature),
            ("\(parts[0]).\(parts[1]).\(parts[2]).", .malformedToken),
            ("\(parts[0]).\(parts[1])=.\(parts[2])", .malformedToken),
            ("\(parts[0])..\(parts[2])", .malformedPayload), (".\(parts[1]).\(parts[2])", .malformedHeader),
            ("\(parts[0])A.\(parts[1]).\(parts[2])", .malformedHeader),
        ]
        for (text, reason) in cases {
            guard case .rejected(reason) = verdict(text) else {
                Issue.record("\(reason) expected, not \(verdict(text))")
                continue
            }
        }
    }

    @Test("The headers kept are few, and the oldest goes first")
    func bound() throws {
        let header = try TokenHeader(VerifyFixture.header)
        for number in 0..<20 { headers.remember(header, Array("header \(number)".utf8).span) }
        let known = (0..<20).filter { headers.header(Array("header \($0)".utf8).span) != nil }
        #expect(known == Array(12..<20))
    }
}
