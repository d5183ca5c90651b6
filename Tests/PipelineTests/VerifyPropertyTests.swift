import Cryptography
import Encoding
import Pipeline
import SeededRandom
import Testing

/// A verifier that knows a key of every kind accepts what was signed, byte for byte, and nothing made of it.
@Suite("Verify: what is made of valid tokens")
struct VerifyPropertyTests {
    static let seeds: [UInt64] = [1, 2, 3, 4, 5, 6, 7, 8]
    static let tokens = AlgorithmTokens.tokens.map { Array($0.token.utf8) }
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    let verifier: TokenVerifier
    let keySet: KeySet

    init() throws {
        var pool = VerifyFixture.pool
        pool.algorithms = VerifyAlgorithmTests.all
        verifier = TokenVerifier(issuers: [pool], maximumTokenBytes: 1 << 16)
        keySet = try VerifyAlgorithmTests.keySet(AlgorithmTokens.keys.keys)
    }

    func isVerified(_ token: some Collection<UInt8>) -> Bool {
        let verdict = verifier.verify(
            token, accepting: TokenAcceptance(tokenUses: [.access, .id]), keys: { _ in keySet }, now: VerifyFixture.now)
        if case .verified = verdict { return true }
        return false
    }

    /// Nothing but the tokens themselves is verified.
    func expectRefusedUnlessOriginal(_ mutant: [UInt8], _ what: @autoclosure () -> String) {
        guard !Self.tokens.contains(mutant) else { return }
        // Not in the macro: it would keep each of some ten thousand tokens for its message.
        if isVerified(mutant) { Issue.record("\(what()) is verified: \(String(decoding: mutant, as: UTF8.self))") }
    }

    @Test("Each of the tokens is verified", arguments: tokens.indices)
    func originals(index: Int) {
        #expect(isVerified(Self.tokens[index]))
    }

    @Test("No token with any one bit flipped is verified", arguments: tokens.indices)
    func everyBit(index: Int) {
        for position in Self.tokens[index].indices {
            for bit in 0..<8 {
                var mutant = Self.tokens[index]
                mutant[position] ^= 1 << UInt8(bit)
                expectRefusedUnlessOriginal(mutant, "bit \(bit) at \(position)")
            }
        }
    }

    @Test("No signature with any one bit flipped is verified", arguments: tokens.indices)
    func everyBitOfSignature(index: Int) throws {
        let (algorithm, keyID, text) = AlgorithmTokens.tokens[index]
        let key = try #require(keySet.key(id: keyID, algorithm: algorithm))
        let dot = try #require(text.lastIndex(of: "."))
        let signature = try #require(Base64URL.decode(text[text.index(after: dot)...].utf8))
        let message = Array(text[..<dot].utf8)
        #expect(key.verify(signature: signature, of: message, algorithm: algorithm))
        for position in signature.indices {
            for bit in 0..<8 {
                var mutant = signature
                mutant[position] ^= 1 << UInt8(bit)
                if key.verify(signature: mutant, of: message, algorithm: algorithm) {
                    Issue.record("bit \(bit) at \(position)")
                }
            }
        }
    }

    @Test("No token cut off, begun late, repeated or joined to another is verified", arguments: tokens.indices)
    func cuts(index: Int) {
        let token = Self.tokens[index]
        for count in token.indices {
            expectRefusedUnlessOriginal(Array(token.prefix(count)), "the first \(count)")
            if count > 0 { expectRefusedUnlessOriginal(Array(token.dropFirst(count)), "all but the first \(count)") }
        }
        for other in Self.tokens {
            for between in ["", ".", ",", " ", "\0", "=", "\n"] {
                expectRefusedUnlessOriginal(token + Array(between.utf8) + other, "two joined by \(between)")
            }
        }
        for byte in UInt8.min...UInt8.max {
            expectRefusedUnlessOriginal(token + [byte], "\(byte) behind")
            expectRefusedUnlessOriginal([byte] + token, "\(byte) in front")
        }
    }

    @Test("Segments of several tokens make no other token", arguments: tokens.indices)
    func segments(index: Int) {
        let parts = Self.tokens.map { $0.split(separator: UInt8(ascii: ".")) }
        let dot = [UInt8(ascii: ".")]
        for second in parts.indices {
            for third in parts.indices {
                let mutant = parts[index][0] + dot + parts[second][1] + dot + parts[third][2]
                expectRefusedUnlessOriginal(Array(mutant), "segments of \(index), \(second), \(third)")
            }
        }
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 0, 2], [1, 1, 2], [0, 1, 1]] {
            let mutant = order.map { parts[index][$0] }.joined(separator: dot)
            expectRefusedUnlessOriginal(Array(mutant), "segments in order \(order)")
        }
    }

    @Test("No token with a letter in other case is verified", arguments: tokens.indices)
    func letterCase(index: Int) {
        let token = Self.tokens[index]
        let text = String(decoding: token, as: UTF8.self)
        expectRefusedUnlessOriginal(Array(text.lowercased().utf8), "lower case")
        expectRefusedUnlessOriginal(Array(text.uppercased().utf8), "upper case")
        for position in token.indices where Character(Unicode.Scalar(token[position])).isLetter {
            var mutant = token
            mutant[position] ^= 0x20
            expectRefusedUnlessOriginal(mutant, "another case at \(position)")
        }
    }

    @Test("No token changed at random is verified", arguments: seeds)
    func randomEdits(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_000 {
            var mutant = Self.tokens[random.index(below: Self.tokens.count)]
            for _ in 0...random.index(below: 3) { edit(&mutant, &random) }
            expectRefusedUnlessOriginal(mutant, "seed \(seed)")
        }
    }

    private func edit(_ token: inout [UInt8], _ random: inout SeededGenerator) {
        let position = random.index(below: token.count)
        let end = min(token.count, position + 1 + random.index(below: 8))
        switch random.index(below: 7) {
        case 0: token[position] = Self.alphabet[random.index(below: 64)]
        case 1: token[position] = UInt8(random.index(below: 256))
        case 2: token.insert(Self.alphabet[random.index(below: 64)], at: position)
        case 3: if end - position < token.count { token.removeSubrange(position..<end) }
        case 4: token.insert(contentsOf: token[position..<end], at: position)
        case 5: token.swapAt(position, random.index(below: token.count))
        default:
            let other = Self.tokens[random.index(below: Self.tokens.count)]
            token.replaceSubrange(position..<end, with: other[min(position, other.count)..<min(end, other.count)])
        }
    }

    /// Revocation must therefore go by claims, and never by a token's bytes.
    @Test("Row 33: The one other spelling of a signature is ECDSA's n − s, and it says the same")
    func twin() throws {
        let (_, keyID, text) = try #require(AlgorithmTokens.tokens.first { $0.algorithm == .es256 })
        let dot = try #require(text.lastIndex(of: "."))
        let signature = try #require(Base64URL.decode(text[text.index(after: dot)...].utf8))
        let s = Self.difference(EllipticCurve.p256Order, Array(signature.suffix(32)))
        let twin = "\(text[..<dot]).\(Base64URL.encode(signature.prefix(32) + s))"
        let verified = try [text, twin].map { text in
            guard
                case .verified(let token) = verifier.verify(
                    text.utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet },
                    now: VerifyFixture.now)
            else { throw NotVerified() }
            return token
        }
        #expect(verified[0].claims == verified[1].claims && verified[1].keyID == keyID)
        // To the cache they are two tokens.
        let cache = VerifiedTokenCache<Int>()
        cache.insert(text, verified[0], extra: 0, extraBytes: 0, now: VerifyFixture.now)
        let found = cache.lookup(
            twin, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in keySet }, now: VerifyFixture.now)
        guard case .miss = found else {
            Issue.record("the twin is found in the cache")
            return
        }
    }

    private struct NotVerified: Error {}

    /// `a − b` of two big-endian numbers of one length, `b` being the smaller.
    private static func difference(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var (difference, borrow) = (a, 0)
        for index in a.indices.reversed() {
            let value = Int(a[index]) - Int(b[index]) - borrow
            difference[index] = UInt8(value & 0xff)
            borrow = value < 0 ? 1 : 0
        }
        return difference
    }
}

extension EllipticCurve {
    /// The number of P-256's points (SP 800-186, 3.2.1.3).
    fileprivate static let p256Order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ]
}
