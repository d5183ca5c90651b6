internal import Cryptography
internal import Encoding
internal import Synchronization

/// The signatures that any event loop has verified, so that a token costs the process one verification and not one on
/// each loop.
///
/// An entry says that a token's text, byte for byte, bears the signature of one key, and nothing else. That is true for
/// ever, so nothing ends an entry and none lets a token in: each loop asks for the key that the issuer's set has now,
/// and judges the claims, the time and the revocations itself. A token that has ended is refused by all loops, whatever
/// is known of its signature. Tokens that are checked with a shared secret are left out: HMAC costs no more than this.
///
/// An entry is a SHA-256 of the key and the text, with a random start that only this process knows. Its size is fixed
/// and no token is kept. Loops read and write without locks and without any ordering: a digest of which only a part is
/// written yet, or that two loops have written over each other, is found by nobody, because all 256 bits must be those
/// of the question.
@safe package final class VerifiedSignatures: Sendable {
    /// How many entries have their places beside each other; a new one displaces only one of these.
    private static let neighbours = 8
    private static let words = SignatureDigest.wordCount

    /// One behind the other. Only ever read and changed atomically, and never replaced.
    private nonisolated(unsafe) let table: UnsafeMutablePointer<Atomic<UInt64>>
    private let groups: Int
    private let salt = SecureRandom.bytes(SHA256.byteCount)

    /// - Parameter capacity: how many entries there are at most, of 32 bytes each; taken as the next power of two.
    package init(capacity: Int = 65_536) {
        var groups = 1
        while groups * Self.neighbours < capacity { groups *= 2 }
        self.groups = groups
        let count = groups * Self.neighbours * Self.words
        unsafe table = .allocate(capacity: count)
        for index in 0..<count { unsafe (table + index).initialize(to: Atomic(0)) }
    }

    deinit {
        let count = groups * Self.neighbours * Self.words
        unsafe table.deinitialize(count: count)
        unsafe table.deallocate()
    }

    /// The entry of a token's signature by a key; nil for a key that is a secret.
    ///
    /// - Parameter token: the whole text.
    func digest(of token: borrowing Span<UInt8>, key: VerificationKey) -> SignatureDigest? {
        guard let fingerprint = key.fingerprint else { return nil }
        var message: [UInt8] = []
        message.reserveCapacity(salt.count + fingerprint.count + token.count)
        message.append(contentsOf: salt)
        message.append(contentsOf: fingerprint)
        unsafe token.withUnsafeBufferPointer { unsafe message.append(contentsOf: $0) }
        return SignatureDigest(SHA256.hash(message))
    }

    func contains(_ digest: SignatureDigest) -> Bool {
        let first = place(of: digest)
        return (0..<Self.neighbours).contains { holds(digest, at: first + $0 * Self.words) }
    }

    /// Adds a signature that was found to be right.
    func insert(_ digest: SignatureDigest) {
        let first = place(of: digest)
        let free = (0..<Self.neighbours).first { unsafe table[first + $0 * Self.words].load(ordering: .relaxed) == 0 }
        // Of a full group any goes: its bits are as good as random numbers.
        let neighbour = free ?? Int(truncatingIfNeeded: digest[3]) & (Self.neighbours - 1)
        for word in 0..<Self.words {
            unsafe table[first + neighbour * Self.words + word].store(digest[word], ordering: .relaxed)
        }
    }

    private func holds(_ digest: SignatureDigest, at place: Int) -> Bool {
        (0..<Self.words).allSatisfy { unsafe table[place + $0].load(ordering: .relaxed) == digest[$0] }
    }

    private func place(of digest: SignatureDigest) -> Int {
        (Int(truncatingIfNeeded: digest[1]) & (groups - 1)) * Self.neighbours * Self.words
    }
}

/// 256 bits, the first word of which is never zero.
struct SignatureDigest: Equatable {
    static let wordCount = 4

    private let words: (UInt64, UInt64, UInt64, UInt64)

    init(_ digest: [UInt8]) {
        let bytes = digest.span
        // An empty place has zeros.
        words = (bytes.word(at: 0) | 1, bytes.word(at: 8), bytes.word(at: 16), bytes.word(at: 24))
    }

    subscript(index: Int) -> UInt64 {
        switch index {
        case 0: words.0
        case 1: words.1
        case 2: words.2
        default: words.3
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.words == right.words }
}

/// One event loop's access to the signatures that all have verified. Not `Sendable` and without locks.
package final class LoopSignatures {
    private let shared: VerifiedSignatures
    /// How many tokens needed no verification because another loop, or this one long ago, had done it.
    private(set) var foundCount = 0

    init(_ shared: VerifiedSignatures) { self.shared = shared }

    /// See ``VerifiedSignatures/digest(of:key:)``.
    func digest(of token: borrowing Span<UInt8>, key: VerificationKey) -> SignatureDigest? {
        shared.digest(of: token, key: key)
    }

    func isKnown(_ digest: SignatureDigest) -> Bool {
        guard shared.contains(digest) else { return false }
        foundCount += 1
        return true
    }

    func remember(_ digest: SignatureDigest) { shared.insert(digest) }
}
