internal import Cryptography
internal import Encoding
internal import Synchronization

/// The signatures that any event loop has verified, so that a token costs one verification for the process instead of
/// one for each loop.
///
/// An entry states that a token's text, byte for byte, has a valid signature of one key, and nothing else. That never
/// changes, so entries do not expire. No entry admits a token: each loop looks up the current key in the issuer's set,
/// and checks the claims, the time and the revocations itself. All loops refuse an expired token, even if its signature
/// is known. Tokens that are verified with a shared secret are not included: HMAC costs no more than a lookup.
///
/// An entry is a SHA-256 of the key and the text, with a random prefix that only this process knows. Its size is fixed
/// and it contains no token. Loops read and write without locks and without memory ordering. A digest that is only
/// partly written, or that two loops have overwritten, matches no lookup, because all 256 bits must be equal.
@safe package final class VerifiedSignatures: Sendable {
    /// The number of entries in a group; a new entry replaces only one of its group.
    private static let neighbours = 8
    private static let words = SignatureDigest.wordCount

    /// The entries in sequence. Only read and changed atomically, and never reallocated.
    private nonisolated(unsafe) let table: UnsafeMutablePointer<Atomic<UInt64>>
    private let groups: Int
    private let salt = SecureRandom.bytes(SHA256.byteCount)

    /// - Parameter capacity: the maximum number of entries, of 32 bytes each; rounded up to a power of two.
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

    /// The entry of a token's signature by a key; nil if the key is a shared secret.
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

    /// Adds a valid signature.
    func insert(_ digest: SignatureDigest) {
        let first = place(of: digest)
        let free = (0..<Self.neighbours).first { unsafe table[first + $0 * Self.words].load(ordering: .relaxed) == 0 }
        // In a full group any entry may go; the digest's bits are as good as random numbers.
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

/// 256 bits, of which the first word is never zero.
struct SignatureDigest: Equatable {
    static let wordCount = 4

    private let words: (UInt64, UInt64, UInt64, UInt64)

    init(_ digest: [UInt8]) {
        let bytes = digest.span
        // An empty entry has zeros.
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
    /// The number of tokens that needed no verification because a loop, possibly this one, had verified them earlier.
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
