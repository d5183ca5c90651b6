import ClockSteps
import Cryptography
import Encoding
import Testing

@testable import Pipeline

@Suite("Verify: the cache of verified tokens")
struct VerifyCacheTests {
    let fixture: VerifyFixture
    let acceptance = TokenAcceptance(tokenUses: [.access])

    init() throws { fixture = try VerifyFixture() }

    /// Puts a token of this subject into the cache and returns its text.
    func insert(_ subject: String, into cache: VerifiedTokenCache<String>, exp: Int64 = 1_780_003_600) throws -> String
    {
        let claims = VerifyFixture.accessClaims.with("sub", .string(subject)).with("exp", .number(JSONNumber(exp)))
        let text = try fixture.token(claims: claims)
        let token = try #require(fixture.verified(text))
        cache.insert(text, token, extra: "lines of \(subject)", extraBytes: 0, now: VerifyFixture.now)
        return text
    }

    /// The extra of a hit, nil for everything else.
    func extra(
        _ text: String, in cache: VerifiedTokenCache<String>, keySet: KeySet? = nil, now: Int64 = VerifyFixture.now
    ) -> String? {
        let keys = keySet ?? fixture.keySet
        guard case .hit(let entry) = cache.lookup(text, accepting: acceptance, keys: { _ in keys }, now: now) else {
            return nil
        }
        return entry.extra
    }

    @Test("A token is found by its own text and by no other")
    func lookup() throws {
        let cache = VerifiedTokenCache<String>()
        let text = try insert("ada", into: cache)
        #expect(extra(text, in: cache) == "lines of ada")
        #expect(extra(text + "A", in: cache) == nil)
        #expect(extra(String(text.dropLast()), in: cache) == nil)
        #expect(extra(text + "=", in: cache) == nil)
        #expect(extra("", in: cache) == nil)
        #expect(cache.count == 1)
    }

    @Test("Row 33: A canonically equivalent spelling is not the token")
    func equivalence() throws {
        let cache = VerifiedTokenCache<String>()
        // Enough tokens that one has a K, whose twin U+212A compares as equal in Swift.
        let texts = try (0..<5).map { try insert("user \($0)", into: cache) }
        let text = try #require(texts.first { $0.contains("K") })
        let place = try #require(text.firstIndex(of: "K"))
        let twin = text[..<place] + "\u{212a}" + text[text.index(after: place)...]
        #expect(String(twin) == text)
        #expect(extra(String(twin), in: cache) == nil)
        #expect(extra(text, in: cache) != nil)
    }

    @Test("A hit is refused where the route does not accept the token")
    func acceptanceAtHit() throws {
        let cache = VerifiedTokenCache<String>()
        let text = try insert("ada", into: cache)
        let refusals: [(TokenAcceptance, RejectReason)] = [
            (TokenAcceptance(tokenUses: [.id]), .tokenUseNotAccepted),
            (TokenAcceptance(issuers: ["other"], tokenUses: [.access]), .issuerNotAccepted),
        ]
        for (acceptance, reason) in refusals {
            let found = cache.lookup(
                text, accepting: acceptance, keys: { _ in fixture.keySet }, now: VerifyFixture.now)
            guard case .rejected(reason) = found else {
                Issue.record("\(reason) expected")
                continue
            }
        }
        #expect(extra(text, in: cache) != nil)
    }

    @Test("An entry ends with its token's life, and is not back when the clock is", arguments: ClockSteps.allCases)
    func steps(steps: ClockSteps) throws {
        let cache = VerifiedTokenCache<String>()
        let (ada, ben) = (try insert("ada", into: cache), try insert("ben", into: cache))
        let gone = try VerifyFixture.keySet(of: [("new", fixture.otherKey)], generation: 11)
        for error in steps.errors {
            let now = VerifyFixture.now + error
            // The end of a token is a time of day.
            #expect((extra(ada, in: cache, now: now) != nil) == (error <= 0 && steps != .aheadAndBack))
            #expect(extra(ben, in: cache, keySet: gone, now: now) == nil, "its key was withdrawn")
        }
        #expect((extra(ada, in: cache) != nil) == (steps != .aheadAndBack))
        #expect((extra(ben, in: cache) != nil) == (steps == .none))
    }

    @Test("An entry ends with its token's life")
    func expiry() throws {
        let cache = VerifiedTokenCache<String>()
        let text = try insert("ada", into: cache)
        #expect(extra(text, in: cache, now: 1_780_003_659) != nil)
        #expect(extra(text, in: cache, now: 1_780_003_660) == nil)
        #expect(cache.count == 0 && cache.byteCount == 0)
    }

    @Test("Row 14: An entry's life is capped at a day, however far its exp is", arguments: [253_402_300_800, 1 << 53])
    func cappedLife(exp: Int64) throws {
        let cache = VerifiedTokenCache<String>()
        let text = try insert("ada", into: cache, exp: exp)
        #expect(extra(text, in: cache, now: VerifyFixture.now + 86_399) != nil)
        #expect(extra(text, in: cache, now: VerifyFixture.now + 86_400) == nil)
    }

    @Test("An entry outlives a new key set with its key, and ends with one where the key is gone or changed")
    func keySetChange() throws {
        let pool = [(VerifyFixture.keyID, fixture.key)]
        let same = try VerifyFixture.keySet(of: pool + [("new", fixture.otherKey)], generation: 10)
        let gone = try VerifyFixture.keySet(of: [("new", fixture.otherKey)], generation: 11)
        let changed = try VerifyFixture.keySet(of: [(VerifyFixture.keyID, fixture.otherKey)], generation: 12)
        let empty = try VerifyFixture.keySet(of: [], generation: 13)

        let cache = VerifiedTokenCache<String>()
        for ending in [gone, changed, empty] {
            let text = try insert("ada", into: cache)
            #expect(extra(text, in: cache, keySet: same) != nil)
            #expect(extra(text, in: cache, keySet: same) != nil)
            #expect(extra(text, in: cache, keySet: ending) == nil)
            #expect(extra(text, in: cache, keySet: same) == nil, "it doesn't come back")
        }
        let text = try insert("ada", into: cache)
        let found = cache.lookup(text, accepting: acceptance, keys: { _ in nil }, now: VerifyFixture.now)
        guard case .miss = found else {
            Issue.record("an issuer without a key set verifies nothing")
            return
        }
    }

    @Test("The least recently used token goes first")
    func eviction() throws {
        let cache = VerifiedTokenCache<String>(maximumEntries: 3)
        let first = try insert("1", into: cache)
        let second = try insert("2", into: cache)
        let third = try insert("3", into: cache)
        #expect(extra(first, in: cache) != nil)
        let fourth = try insert("4", into: cache)
        #expect(extra(second, in: cache) == nil)
        let fifth = try insert("5", into: cache)
        #expect(extra(third, in: cache) == nil)
        for text in [first, fourth, fifth] { #expect(extra(text, in: cache) != nil) }
        #expect(cache.count == 3)
    }

    @Test("The bytes held are bounded, and what is too large alone is not kept")
    func byteBound() throws {
        let cache = VerifiedTokenCache<String>(maximumBytes: 20_000)
        for index in 0..<20 {
            _ = try insert("\(index)", into: cache)
            #expect(cache.byteCount <= 20_000)
        }
        #expect((2..<20).contains(cache.count))
        let held = cache.count
        let text = try fixture.token()
        let token = try #require(fixture.verified(text))
        let entry = cache.insert(text, token, extra: "", extraBytes: 30_000, now: VerifyFixture.now)
        #expect(entry != nil && cache.count == held)
        #expect(extra(text, in: cache) == nil)
    }

    @Test("Inserting a token again replaces its entry")
    func replacing() throws {
        let cache = VerifiedTokenCache<String>()
        let text = try insert("ada", into: cache)
        let byteCount = cache.byteCount
        #expect(try insert("ada", into: cache) == text)
        #expect(cache.count == 1 && cache.byteCount == byteCount)
    }

    @Test("A token that the verifier did not make is not kept")
    func unproved() {
        let cache = VerifiedTokenCache<String>()
        let token = VerifiedToken(
            issuer: "i", issuerName: "pool", subject: "s", tokenUse: .access, clientID: "c", expires: .max, keyID: "k")
        #expect(cache.insert("a.b.c", token, extra: "", extraBytes: 0, now: 0) == nil)
        #expect(cache.count == 0)
    }

    @Test("Used in any order, it stays within its bounds and gives what was put in")
    func randomUse() throws {
        let cache = VerifiedTokenCache<String>(maximumEntries: 4)
        let texts = try (0..<8).map { try fixture.token(claims: VerifyFixture.accessClaims.with("sub", "s\($0)")) }
        let tokens = try texts.map { try #require(fixture.verified($0)) }
        var recent: [Int] = []
        var state: UInt32 = 1
        for step in 0..<2000 {
            state = state &* 1_664_525 &+ 1_013_904_223
            let index = Int(state >> 16) % texts.count
            #expect((extra(texts[index], in: cache) == "\(index)") == recent.contains(index), "step \(step)")
            if !recent.contains(index) {
                cache.insert(texts[index], tokens[index], extra: "\(index)", extraBytes: 0, now: VerifyFixture.now)
            }
            recent = [index] + recent.filter { $0 != index }.prefix(3)
            #expect(cache.count == recent.count)
        }
        cache.removeAll()
        #expect(cache.count == 0 && extra(texts[0], in: cache) == nil)
    }
}
