/// A token as a key: equal byte for byte, hashed by its last bytes alone.
///
/// A token ends in its signature, whose bytes nobody can choose who cannot sign: two verified tokens meet in one hash
/// as seldom as with a hash of the whole, and a kilobyte of Base64 is not hashed at every request. What was not
/// verified is looked up but never kept, so that a client cannot make many keys that end alike.
struct TokenText: Hashable {
    let text: String

    /// Enough of a signature, and few enough to be inside it for every algorithm.
    private static let hashedBytes = 32

    static func == (one: TokenText, other: TokenText) -> Bool {
        // Strings are equal under canonical equivalence, and ASCII is compared at the speed of memory. What is kept is
        // ASCII, whose other spellings are all longer.
        one.text.utf8.count == other.text.utf8.count && one.text == other.text
    }

    func hash(into hasher: inout Hasher) {
        let bytes = text.utf8.span
        var index = max(0, bytes.count - Self.hashedBytes)
        while index < bytes.count {
            var word: UInt64 = 0
            let end = min(index + 8, bytes.count)
            while index < end {
                word = word << 8 | UInt64(bytes[index])
                index += 1
            }
            hasher.combine(word)
        }
        hasher.combine(bytes.count)
    }
}
