import Cryptography
import Encoding
import Testing

@testable import Pipeline

/// HMAC with a configured secret (RFC 7518, 3.2).
@Suite("Verify: a secret")
struct VerifySecretTests {
    static let secret = Secret("0123456789abcdef0123456789abcdef")
    static let claims: JSONObject = [
        "iss": "https://id.example", "sub": "user-1", "aud": "api", "exp": 1_780_003_600,
    ]

    static func issuer(keyID: String?) -> Issuer {
        Issuer(
            name: "hmac", issuer: "https://id.example", profile: .openID(OpenIDRules(audiences: ["api"])),
            keySource: .secret(secret, keyID: keyID), algorithms: [.hs256])
    }

    static func token(_ header: JSONObject, secret: Secret = secret) -> String {
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
        let code = HMACSHA256.authenticationCode(for: Array(signed.utf8), key: secret.expose())
        return signed + "." + Base64URL.encode(code)
    }

    static func verdict(_ token: String, keyID: String?) throws -> String {
        let keySet = try KeySet(secret: secret, keyID: keyID ?? "", algorithm: .hs256, generation: 1)
        let verdict = TokenVerifier(issuers: [issuer(keyID: keyID)]).verify(
            token.utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet },
            now: VerifyFixture.now)
        switch verdict {
        case .verified(let token): return "verified \(token.subject)"
        case .rejected(let reason): return reason.rawValue
        case .needsKeys(_, let keyID): return "needs \(keyID)"
        }
    }

    @Test(
        "A secret with a name takes tokens that name it, one without takes tokens that name none",
        arguments: [
            ("k1", "k1", "verified user-1"), ("k1", nil, "key-id-invalid"), ("k1", "k2", "needs k2"),
            (nil, nil, "verified user-1"), (nil, "k1", "needs k1"), (nil, "", "key-id-invalid"),
        ] as [(String?, String?, String)])
    func keyIDs(configured: String?, named: String?, expected: String) throws {
        let header: JSONObject = ["alg": "HS256"]
        let token = Self.token(header.with("kid", named.map { .string($0) }))
        #expect(try Self.verdict(token, keyID: configured) == expected)
    }

    @Test("Another secret, another algorithm and none are refused")
    func refused() throws {
        let other = Self.token(["alg": "HS256"], secret: Secret("another secret of thirty-two byte"))
        #expect(try Self.verdict(other, keyID: nil) == "bad-signature")
        for name in ["HS384", "HS512", "RS256", "none"] {
            #expect(try Self.verdict(Self.token(["alg": .string(name)]), keyID: nil) == "algorithm-not-allowed")
        }
    }

    @Test(
        "A secret shorter than its digest is no key",
        arguments: [
            (SignatureAlgorithm.hs256, 32), (.hs384, 48), (.hs512, 64),
        ])
    func length(algorithm: SignatureAlgorithm, bytes: Int) throws {
        let long = Secret([UInt8](repeating: 7, count: bytes))
        #expect(try KeySet(secret: long, keyID: "k", algorithm: algorithm, generation: 1).keyIDs == ["k"])
        let short = Secret([UInt8](repeating: 7, count: bytes - 1))
        #expect(throws: CryptographyError.self) {
            try KeySet(secret: short, keyID: "k", algorithm: algorithm, generation: 1)
        }
    }
}
