import Cryptography
import Encoding
import HTTPTypes
import Testing

@testable import Pipeline

/// Event loops of one process, each with its cache, at one gate.
private final class Loops {
    let tokens: VerifyFixture
    let gate: Gate
    let caches: [TokenCache]

    init(_ count: Int, pool: Issuer = VerifyFixture.pool) throws {
        tokens = try VerifyFixture()
        let signatures = VerifiedSignatures()
        caches = (0..<count).map { _ in TokenCache(signatures: signatures) }
        gate = Gate(
            routes: try RouteTable([
                Route(name: "r", pattern: try RoutePattern("/r"), access: .required, destination: .upstream("api"))
            ]), verifier: TokenVerifier(issuers: [pool]))
    }

    func outcome(
        _ loop: Int, _ token: String, keySet: KeySet? = nil, now: Int64 = VerifyFixture.now
    ) throws -> Outcome {
        let request = try GateFixture.request("/r", [("Authorization", "Bearer \(token)")])
        let context = RequestContext(
            peer: "192.0.2.1", scheme: "https", requestID: "i",
            trace: try #require(TraceContext(parsing: GateFixture.traceparent)), now: now)
        return Outcome(
            gate.decide(request, context, cache: caches[loop], keySets: [keySet ?? tokens.keySet]), gate)
    }

    /// How many tokens each loop had to ask for, and how many of them needed no verification.
    var misses: [Int] { caches.map(\.missCount) }
    var shared: [Int] { caches.map(\.sharedCount) }
}

@Suite("Verify: signatures that all event loops know")
struct VerifySharedSignaturesTests {
    private static let passed = Outcome.forward(
        route: "r", upstream: "api", target: "/r", subject: "6f1c2a4e-0000-4000-8000-1234567890ab")

    @Test("Eight loops verify each token once between them")
    func once() throws {
        let loops = try Loops(8)
        let tokens = try (0..<50).map {
            try loops.tokens.token(claims: VerifyFixture.accessClaims.with("jti", .string("\($0)")))
        }
        for (index, token) in tokens.enumerated() {
            // Each token comes to another loop first, and to each twice.
            for turn in 0..<16 { #expect(try loops.outcome((index + turn) % 8, token) == Self.passed) }
        }
        #expect(loops.misses == [Int](repeating: 50, count: 8))
        #expect(loops.shared.reduce(0, +) == 50 * 8 - 50)
        #expect(loops.caches.map(\.hitCount) == [Int](repeating: 50, count: 8))
    }

    @Test("A token of which one byte differs is verified, and refused")
    func altered() throws {
        let loops = try Loops(2)
        let token = try loops.tokens.token()
        #expect(try loops.outcome(0, token) == Self.passed)
        let other = try loops.tokens.token(claims: VerifyFixture.accessClaims.with("sub", "eve"))
        let parts = token.split(separator: "."), otherParts = other.split(separator: ".")
        // Another's claims with this signature, and a signature that differs in its first bits.
        let flipped = (parts[2].first == "A" ? "B" : "A") + parts[2].dropFirst()
        for forged in [[parts[0], otherParts[1], parts[2]], [parts[0], parts[1], Substring(flipped)]] {
            let refused = Outcome.unauthorized("bad-signature", route: "r")
            #expect(try loops.outcome(1, forged.joined(separator: ".")) == refused)
        }
        #expect(loops.shared == [0, 0])
    }

    @Test("A token that was refused for its signature is not known afterwards")
    func refusedBefore() throws {
        let loops = try Loops(2)
        let token = try loops.tokens.token(signedBy: loops.tokens.otherKey)
        for loop in [0, 1, 0] {
            #expect(try loops.outcome(loop, token) == .unauthorized("bad-signature", route: "r"))
        }
        #expect(loops.shared == [0, 0])
    }

    @Test("What ends a token on one loop ends it on the others, where only its signature is known")
    func ends() throws {
        let loops = try Loops(6)
        let token = try loops.tokens.token()
        #expect(try loops.outcome(0, token) == Self.passed)

        let gone = try VerifyFixture.keySet(of: [("new", loops.tokens.otherKey)], generation: 11)
        #expect(try loops.outcome(1, token, keySet: gone) == .needsKeys(issuerIndex: 0, keyID: VerifyFixture.keyID))
        let changed = try VerifyFixture.keySet(of: [(VerifyFixture.keyID, loops.tokens.otherKey)], generation: 12)
        #expect(try loops.outcome(2, token, keySet: changed) == .unauthorized("bad-signature", route: "r"))

        // The skew of a minute is over.
        guard case .refuse(401, .tokenExpired, _, _, _) = try loops.outcome(3, token, now: 1_780_003_660) else {
            Issue.record("it has not expired")
            return
        }

        let revocation = Revocation(
            issuer: VerifyFixture.pool.issuer, .tokenID("7d1f"), endsAt: VerifyFixture.now + 4000)
        let list = RevocationList.empty.adding([revocation])
        for cache in loops.caches { cache.revocations = list }
        for loop in 0..<6 {
            #expect(try loops.outcome(loop, token) == .unauthorized("token-revoked", route: "r"), "loop \(loop)")
        }
    }

    @Test("A key is known again in another set and under another name, and no other key or algorithm is it")
    func keys() throws {
        let fixture = try VerifyFixture()
        func key(_ name: String, _ key: RSASigningKey, _ algorithm: SignatureAlgorithm) throws -> VerificationKey {
            var jwk = VerifyFixture.jwk(key, id: name)
            jwk["alg"] = .string(algorithm.rawValue)
            let document: JSON = ["keys": [.object(jwk)]]
            let set = try KeySet(jwks: document.encoded(), algorithms: [algorithm], generation: 1)
            return try #require(set.key(id: name, algorithm: algorithm))
        }
        let signatures = VerifiedSignatures()
        func digest(
            _ key: VerificationKey, _ text: String = "header.payload.signature", by signatures: VerifiedSignatures
        ) -> SignatureDigest? {
            let token = Array(text.utf8)
            return signatures.digest(of: token.span, key: key)
        }
        let known = digest(try key("a", fixture.key, .rs256), by: signatures)
        #expect(known != nil)
        #expect(digest(try key("b", fixture.key, .rs256), by: signatures) == known)
        #expect(digest(try key("a", fixture.key, .ps256), by: signatures) != known)
        #expect(digest(try key("a", fixture.otherKey, .rs256), by: signatures) != known)
        #expect(digest(try key("a", fixture.key, .rs256), "x", by: signatures) != known)
        // Another process has other digests.
        #expect(digest(try key("a", fixture.key, .rs256), by: VerifiedSignatures()) != known)
    }

    @Test("Every algorithm but HMAC is known by its signature", arguments: AlgorithmTokens.tokens.map(\.algorithm))
    func algorithms(algorithm: SignatureAlgorithm) throws {
        let made = try #require(AlgorithmTokens.tokens.first { $0.algorithm == algorithm })
        var pool = VerifyFixture.pool
        pool.algorithms = [algorithm]
        let document = "{\"keys\":[\(try #require(AlgorithmTokens.keys[made.keyID]))]}"
        let keySet = try KeySet(jwks: Array(document.utf8), algorithms: [algorithm], generation: 1)
        let loops = try Loops(2, pool: pool)
        for loop in 0..<2 { #expect(try loops.outcome(loop, made.token, keySet: keySet) == Self.passed) }
        #expect(loops.shared == [0, 1])
    }

    @Test("Tokens that are checked with a secret are not kept")
    func secrets() throws {
        let secret = Secret(Array(repeating: 7, count: 32))
        let key = try VerificationKey.shared(secret, algorithm: .hs256)
        let token = Array("a.b.c".utf8)
        let digest = VerifiedSignatures().digest(of: token.span, key: key)
        #expect(digest == nil)
    }

    @Test("There are never more entries than fit, and the last one is there")
    func bounded() {
        let signatures = VerifiedSignatures(capacity: 64)
        let digests = (0..<2000).map { SignatureDigest(SHA256.hash(Array("\($0)".utf8))) }
        for digest in digests {
            signatures.insert(digest)
            #expect(signatures.contains(digest))
        }
        let count = digests.count(where: signatures.contains)
        #expect(count <= 64)
        #expect(count > 48, "places are used")
        #expect(!signatures.contains(SignatureDigest([UInt8](repeating: 0, count: 32))))
    }

    @Test("Loops that write over each other find nothing that nobody has written")
    func races() async {
        let signatures = VerifiedSignatures(capacity: 8)
        func digest(_ number: Int) -> SignatureDigest { SignatureDigest(SHA256.hash(Array("\(number)".utf8))) }
        let found = await withTaskGroup(of: Int.self) { group in
            for loop in 0..<8 {
                group.addTask {
                    var found = 0
                    for step in 0..<2000 {
                        signatures.insert(digest(loop * 2000 + step))
                        // Numbers that no loop inserts.
                        if signatures.contains(digest(100_000 + loop * 2000 + step)) { found += 1 }
                    }
                    return found
                }
            }
            return await group.reduce(0, +)
        }
        #expect(found == 0)
    }
}
