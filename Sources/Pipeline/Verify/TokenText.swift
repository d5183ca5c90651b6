internal import Encoding
internal import Glibc

/// A token's text as a key: compared byte for byte, hashed by its last bytes alone.
///
/// A token ends in its signature, whose bytes nobody can choose without the key. Two verified tokens therefore collide
/// as seldom as with a hash of the whole, without hashing a kilobyte of Base64 at every request. Unverified tokens are
/// looked up but never stored, so a client cannot create many keys with the same end.
enum TokenText {
    /// Enough of a signature, and few enough to be inside it for every algorithm.
    private static let hashedBytes = 32

    static func isSame(_ one: String, _ other: String) -> Bool {
        // Not compared as strings, which can be slow beyond ASCII, nor as spans: these compare words, which is several
        // times as slow as comparing memory.
        let (one, other) = (one.utf8.span, other.utf8.span)
        guard one.count == other.count, one.count > 0 else { return one.count == other.count }
        return unsafe one.withUnsafeBytes { one in
            unsafe other.withUnsafeBytes { other in
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return unsafe memcmp(start, otherStart, one.count) == 0
            }
        }
    }

    static func hash(of text: String) -> Int {
        var hasher = Hasher()
        let bytes = text.utf8.span
        var index = max(0, bytes.count - hashedBytes)
        while bytes.count - index >= 8 {
            hasher.combine(bytes.word(at: index))
            index += 8
        }
        while index < bytes.count {
            hasher.combine(bytes[index])
            index += 1
        }
        hasher.combine(bytes.count)
        return hasher.finalize()
    }
}
