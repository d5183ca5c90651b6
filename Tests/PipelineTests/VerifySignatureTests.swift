import Cryptography
import Encoding
import Testing

@testable import Pipeline

/// The numbers in the names are rows of the threat list: signatures and keys.
@Suite("Verify: signatures and key sets")
struct VerifySignatureTests {
    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    @Test("Row 18: One issuer's claims signed with another's key of the same kid are refused")
    func otherIssuersKey() throws {
        #expect(fixture.reason(try fixture.token(signedBy: fixture.otherKey)) == .badSignature)
        let claims = VerifyFixture.accessClaims.with("iss", .string(VerifyFixture.otherPool.issuer))
        #expect(fixture.reason(try fixture.token(claims: claims)) == .badSignature)
        #expect(fixture.verified(try fixture.token(claims: claims, signedBy: fixture.otherKey))?.issuerName == "other")
    }

    @Test("A key of the same issuer under another kid does not verify")
    func otherKeyID() throws {
        let keySet = try VerifyFixture.keySet(
            of: [(VerifyFixture.keyID, fixture.otherKey), ("id-key=", fixture.key)], generation: 3)
        let verdict = TokenVerifier(issuers: [VerifyFixture.pool]).verify(
            try fixture.token().utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet },
            now: VerifyFixture.now)
        guard case .rejected(.badSignature) = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    @Test("Row 30: A signature that is short, long, doubled, zero or of another token is refused")
    func signatures() throws {
        let token = try fixture.token()
        let signed = token.prefix(upTo: try #require(token.lastIndex(of: ".")))
        let signature = try fixture.key.sign(Array(signed.utf8))
        let other = try fixture.key.sign(Array("other".utf8))
        let wrong = [
            Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature,
            signature + signature, [UInt8](repeating: 0, count: 256), fixture.key.modulus, other, [0],
        ]
        #expect(fixture.verified("\(signed).\(Base64URL.encode(signature))") != nil)
        for bytes in wrong {
            #expect(fixture.reason("\(signed).\(Base64URL.encode(bytes))") == .badSignature)
        }
    }

    @Test("No other character at any place leaves a token valid")
    func mutation() throws {
        let token = Array(try fixture.token().utf8)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)
        for position in token.indices {
            // Over all positions each of the alphabet's distances comes up.
            let start = alphabet.firstIndex(of: token[position]) ?? 0
            for step in [1, 1 + position % (alphabet.count - 1)] {
                var mutant = token
                mutant[position] = alphabet[(start + step) % alphabet.count]
                let text = String(decoding: mutant, as: UTF8.self)
                #expect(fixture.verified(text) == nil, "position \(position), step \(step)")
            }
        }
    }

    @Test("No token cut short at any place is valid")
    func truncation() throws {
        let token = try fixture.token()
        for count in stride(from: 0, to: token.count, by: 7) {
            #expect(fixture.verified(String(token.prefix(count))) == nil, "\(count) characters")
        }
    }

    static let unusable: [(name: String, member: String, value: JSON?, warning: String)] = [
        ("encryption", "use", "enc", "use is not sig"), ("use number", "use", 1, "use is not sig"),
        ("no kid", "kid", nil, "no kid of 1 to 256 bytes"), ("number kid", "kid", 1, "no kid of 1 to 256 bytes"),
        ("empty kid", "kid", "", "no kid of 1 to 256 bytes"), ("EC", "kty", "EC", "crv is not P-256, P-384 or P-521"),
        ("oct", "kty", "oct", "kty is oct, a secret"), ("no kty", "kty", nil, "kty is not RSA, EC or OKP"),
        ("another type", "kty", "AKP", "kty is not RSA, EC or OKP"),
        ("OKP", "kty", "OKP", "crv is not Ed25519"),
        ("alg of a curve", "alg", "ES256", "alg is not one of the issuer's"),
        ("HMAC", "alg", "HS256", "alg is not one of the issuer's"), ("secret", "k", "AQAB", "holds its private key"),
        ("prime", "p", "AQAB", "holds its private key"),
        ("RS512", "alg", "RS512", "alg is not one of the issuer's"),
        ("operations", "key_ops", ["encrypt"], "key_ops lacks verify"),
        ("private", "d", "AQAB", "holds its private key"), ("no n", "n", nil, "n is not base64url"),
        ("padded n", "n", "AQ==", "n is not base64url"), ("no e", "e", nil, "e is not base64url"),
        (
            "1024 bits", "n", .string(Base64URL.encode([UInt8](repeating: 0xff, count: 128))),
            "RSA modulus below 2048 bits"
        ),
        ("e = 1", "e", "AQ", "RSA exponent below 65537"), ("e = 3", "e", "Aw", "RSA exponent below 65537"),
        ("even e", "e", "AQAC", "RSA exponent is even or too large"),
        ("even n", "n", .string(Base64URL.encode([UInt8](repeating: 0xfe, count: 256))), "RSA modulus is even"),
    ]

    @Test("Row 31: A key that can't be used is dropped with a warning, and the others work", arguments: unusable)
    func dropped(name: String, member: String, value: JSON?, warning: String) throws {
        let bad = VerifyFixture.jwk(fixture.otherKey, id: "bad").with(member, value)
        let document: JSON = [
            "keys": ["no object", .object(bad), .object(VerifyFixture.jwk(fixture.key, id: VerifyFixture.keyID))]
        ]
        let keySet = try KeySet(jwks: document.encoded(), generation: 9)
        #expect(keySet.dropped == ["keys[0]: not an object", "keys[1]: \(warning)"])
        #expect(keySet.keyIDs == [VerifyFixture.keyID])
        #expect(!keySet.holds(id: "bad"))
        #expect(keySet.key(id: VerifyFixture.keyID, algorithm: .rs256) != nil)
        #expect(keySet.generation == 9 && !keySet.isEmpty)
    }

    @Test("Row 31: Two keys of one kid are both dropped")
    func repeatedKeyID() throws {
        let keySet = try VerifyFixture.keySet(
            of: [("a", fixture.key), ("b", fixture.key), ("a", fixture.otherKey)], generation: 1)
        #expect(keySet.keyIDs == ["b"])
        #expect(keySet.dropped == ["keys[0]: kid is not unique", "keys[2]: kid is not unique"])
    }

    @Test("Optional members of a key may be missing")
    func bareKey() throws {
        var jwk = VerifyFixture.jwk(fixture.key, id: "a")
        for name in ["use", "alg"] { jwk[name] = nil }
        let document: JSON = ["keys": [.object(jwk.with("key_ops", ["verify"]).with("x5t", "…"))]]
        #expect(try KeySet(jwks: document.encoded(), generation: 1).keyIDs == ["a"])
    }

    static let notKeySets: [(document: String, error: KeySetError)] = [
        ("", .notJSON), ("<html></html>", .notJSON), ("{\"keys\":[]", .notJSON),
        ("{\"keys\":[],\"keys\":[]}", .notJSON),
        ("[]", .noKeys), ("{}", .noKeys), ("{\"keys\":{}}", .noKeys), ("{\"keys\":null}", .noKeys),
        ("{\"keys\":[" + Array(repeating: "1", count: 65).joined(separator: ",") + "]}", .tooManyKeys),
        (String(repeating: " ", count: 1 << 20) + "{\"keys\":[]}", .tooLarge),
    ]

    @Test("What isn't a key set is refused", arguments: notKeySets)
    func notKeySet(document: String, error: KeySetError) {
        #expect(throws: error) { try KeySet(jwks: Array(document.utf8), generation: 1) }
    }

    @Test("As many elements as a key set may have are looked at")
    func mostKeys() throws {
        let document = "{\"keys\":[" + Array(repeating: "1", count: 64).joined(separator: ",") + "]}"
        #expect(try KeySet(jwks: Array(document.utf8), generation: 1).dropped.count == 64)
    }

    @Test("A key set without keys is a set that verifies nothing")
    func emptyKeySet() throws {
        #expect(try KeySet(jwks: Array("{\"keys\":[]}".utf8), generation: 1).isEmpty)
    }
}
