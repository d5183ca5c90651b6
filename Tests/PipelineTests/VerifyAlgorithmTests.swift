import Cryptography
import Encoding
import Testing

@testable import Pipeline

/// The numbers in the names are rows of the threat list: algorithms and the keys they are used with.
@Suite("Verify: algorithms")
struct VerifyAlgorithmTests {
    static let all = AlgorithmTokens.tokens.map(\.algorithm)

    static func key(_ keyID: String) throws -> JSONObject {
        let text = try #require(AlgorithmTokens.keys[keyID])
        return try #require(try JSON.parse(Array(text.utf8)).objectValue)
    }

    /// A key set of these keys, each with further members (or without them, by nil).
    static func keySet(
        _ keyIDs: some Sequence<String>, algorithms: [SignatureAlgorithm] = all, members: [String: JSON?] = [:]
    ) throws -> KeySet {
        let keys = try keyIDs.map { id -> JSON in
            var key = try Self.key(id)
            for (name, value) in members { key[name] = value }
            return .object(key)
        }
        let document: JSON = ["keys": .array(keys)]
        return try KeySet(jwks: document.encoded(), algorithms: algorithms, generation: 1)
    }

    static func verdict(_ token: String, _ keySet: KeySet?, algorithms: [SignatureAlgorithm] = all) -> Verdict {
        var pool = VerifyFixture.pool
        pool.algorithms = algorithms
        return TokenVerifier(issuers: [pool]).verify(
            token.utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet }, now: VerifyFixture.now)
    }

    /// A verdict in a word.
    static func word(_ verdict: Verdict) -> String {
        switch verdict {
        case .verified: "verified"
        case .rejected(let reason): reason.rawValue
        case .needsKeys: "needs-keys"
        }
    }

    @Test("A token of every algorithm verifies with a set of all keys, whose keys name no algorithm")
    func everyAlgorithm() throws {
        let keySet = try Self.keySet(AlgorithmTokens.keys.keys)
        #expect(keySet.dropped == [])
        for (algorithm, keyID, token) in AlgorithmTokens.tokens {
            #expect(Self.word(Self.verdict(token, keySet)) == "verified", "\(algorithm)")
            #expect(keySet.key(id: keyID, algorithm: algorithm) != nil)
        }
    }

    @Test("Row 4: A token of an algorithm that the issuer does not list is refused, whatever its key could do")
    func unlisted() throws {
        for (algorithm, _, token) in AlgorithmTokens.tokens {
            let others = Self.all.filter { $0 != algorithm }
            for keySet in [try Self.keySet(AlgorithmTokens.keys.keys), nil] {
                let word = Self.word(Self.verdict(token, keySet, algorithms: others))
                #expect(word == "algorithm-not-allowed", "\(algorithm)")
            }
        }
    }

    @Test("A key's alg binds it to one algorithm, also where the issuer lists others that fit")
    func bound() throws {
        for (algorithm, keyID, token) in AlgorithmTokens.tokens {
            let own = try Self.keySet([keyID], members: ["alg": .string(algorithm.rawValue), "use": "sig"])
            #expect(Self.word(Self.verdict(token, own)) == "verified", "\(algorithm)")
            for other in Self.all where other != algorithm && other.keyType == algorithm.keyType {
                let bound = try Self.keySet([keyID], members: ["alg": .string(other.rawValue)])
                #expect(Self.word(Self.verdict(token, bound)) == "algorithm-not-allowed", "\(algorithm), \(other)")
            }
        }
    }

    @Test("A key without alg serves the issuer's algorithms that fit its type, and no others")
    func unbound() throws {
        let keySet = try Self.keySet(["rsa", "p256", "ed"], algorithms: [.ps256, .rs384, .es256])
        #expect(Set(keySet.keyIDs) == ["rsa", "p256"])
        #expect(keySet.dropped == ["keys[2]: of a type that none of the issuer's algorithms takes"])
        for (algorithm, keyID, token) in AlgorithmTokens.tokens where ["rsa", "p256"].contains(keyID) {
            // Even a verifier that would take more finds no key for it.
            let word = Self.word(Self.verdict(token, keySet))
            #expect(word == ([.ps256, .rs384, .es256].contains(algorithm) ? "verified" : "algorithm-not-allowed"))
        }
    }

    static let unusable: [(name: String, keyID: String, members: [String: JSON?], warning: String)] = [
        ("another curve", "p256", ["crv": "secp256k1"], "crv is not P-256, P-384 or P-521"),
        ("another curve's name", "p256", ["crv": "P-384"], "coordinate is not 48 bytes"),
        ("no curve", "p256", ["crv": nil], "crv is not P-256, P-384 or P-521"),
        ("Ed448", "ed", ["crv": "Ed448"], "crv is not Ed25519"),
        ("X25519", "ed", ["crv": "X25519"], "crv is not Ed25519"),
        ("alg of another type", "p256", ["alg": "RS256"], "alg does not fit kty"),
        ("alg of another curve", "p256", ["alg": "ES384"], "alg does not fit kty"),
        ("alg none", "p256", ["alg": "none"], "alg is not one of the issuer's"),
        ("alg HMAC", "rsa", ["alg": "HS256"], "alg is not one of the issuer's"),
        ("alg number", "ed", ["alg": 1], "alg is not one of the issuer's"),
        ("private", "p384", ["d": "AQAB"], "holds its private key"),
        ("encryption", "p256", ["use": "enc"], "use is not sig"),
        ("for signing", "ed", ["key_ops": ["sign"]], "key_ops lacks verify"),
        ("no y", "p256", ["y": nil], "y is not base64url"), ("no x", "ed", ["x": nil], "x is not base64url"),
        ("short x", "ed", ["x": "AQAB"], "Ed25519 key is not 32 bytes"),
        (
            "off the curve", "p256", ["y": .string(Base64URL.encode([UInt8](repeating: 1, count: 32)))],
            "point is not on P-256"
        ),
        (
            "zero", "ed", ["x": .string(Base64URL.encode([UInt8](repeating: 0, count: 32)))],
            "Ed25519 key is of small order"
        ),
        ("secret", "ed", ["kty": "oct", "k": "AQAB"], "kty is oct, a secret"),
    ]

    @Test("Row 31: A key of a curve that can't be used is dropped", arguments: unusable)
    func dropped(name: String, keyID: String, members: [String: JSON?], warning: String) throws {
        let keySet = try Self.keySet([keyID], members: members)
        #expect(keySet.isEmpty)
        #expect(keySet.dropped == ["keys[0]: \(warning)"])
    }

    @Test(
        "Row 3: HMAC with what is public of a key, or with a secret of the set, is refused, also where HMAC is listed")
    func hmac() throws {
        let secret = [UInt8](repeating: 7, count: 32)
        let document: JSON = [
            "keys": [["kty": "oct", "kid": "shared", "alg": "HS256", "k": .string(Base64URL.encode(secret))]]
        ]
        let fetched = try KeySet(jwks: document.encoded(), algorithms: SignatureAlgorithm.allCases, generation: 1)
        #expect(fetched.isEmpty && fetched.dropped == ["keys[0]: kty is oct, a secret"])

        let claims = VerifyFixture.accessClaims.encoded()
        let header: JSONObject = ["alg": "HS256", "kid": "shared"]
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims)
        let code = HMACSHA256.authenticationCode(for: Array(signed.utf8), key: secret)
        let token = signed + "." + Base64URL.encode(code)
        #expect(Self.word(Self.verdict(token, fetched, algorithms: SignatureAlgorithm.allCases)) == "needs-keys")
        // Only a configured secret makes such a key.
        let configured = try KeySet(secret: Secret(secret), keyID: "shared", algorithm: .hs256, generation: 2)
        #expect(Self.word(Self.verdict(token, configured, algorithms: [.hs256])) == "verified")
        #expect(Self.word(Self.verdict(token, configured)) == "algorithm-not-allowed")
        #expect(throws: CryptographyError.self) {
            try KeySet(secret: Secret(Array(secret.dropLast())), keyID: "shared", algorithm: .hs256, generation: 2)
        }
    }

    @Test("No other character at any place leaves a token of any algorithm valid")
    func mutation() throws {
        let keySet = try Self.keySet(AlgorithmTokens.keys.keys)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)
        for (algorithm, _, text) in AlgorithmTokens.tokens {
            let token = Array(text.utf8)
            for position in token.indices {
                var mutant = token
                let start = alphabet.firstIndex(of: token[position]) ?? 0
                mutant[position] = alphabet[(start + 1 + position % (alphabet.count - 1)) % alphabet.count]
                let word = Self.word(Self.verdict(String(decoding: mutant, as: UTF8.self), keySet))
                #expect(word != "verified", "\(algorithm), position \(position)")
            }
        }
    }

    @Test("A cached token ends when its key is bound to another algorithm")
    func cached() throws {
        let (_, keyID, token) = try #require(AlgorithmTokens.tokens.first { $0.algorithm == .ps256 })
        let keySet = try Self.keySet([keyID])
        guard case .verified(let verified) = Self.verdict(token, keySet) else {
            Issue.record("not verified")
            return
        }
        let cache = VerifiedTokenCache<Int>()
        cache.insert(token, verified, extra: 0, extraBytes: 0, now: VerifyFixture.now)
        let lookup = { (keySet: KeySet) in
            if case .hit = cache.lookup(
                token, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet }, now: VerifyFixture.now)
            {
                true
            } else {
                false
            }
        }
        #expect(lookup(keySet))
        let document = { (algorithm: String) throws -> KeySet in
            var key = try Self.key(keyID)
            key["alg"] = .string(algorithm)
            let document: JSON = ["keys": [.object(key)]]
            return try KeySet(
                jwks: document.encoded(), algorithms: Self.all, generation: algorithm == "PS256" ? 2 : 3)
        }
        #expect(lookup(try document("PS256")))
        #expect(!lookup(try document("RS256")))
    }
}
