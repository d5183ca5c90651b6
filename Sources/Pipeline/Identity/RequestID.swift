/// The ID that links a response, its log line and the backend's log.
package enum RequestID {
    /// The client's own id if it is 1–128 characters of `A-Za-z0-9._-`, else nil.
    package static func accepted(_ sent: String?) -> String? {
        guard let sent, isAcceptable(sent.utf8.span) else { return nil }
        return sent
    }

    /// A new id like a ULID: 26 characters of Crockford's base 32, 48 bits of time and 80 of randomness.
    /// - Parameters:
    ///   - milliseconds: since 1970; the low 48 bits count.
    ///   - random: at least 80 random bits; the low 16 of `high` and all of `low` count.
    package static func make(milliseconds: UInt64, random: (high: UInt64, low: UInt64)) -> String {
        // 26 characters hold 130 bits, of which the top two are zero. Words are used because shifts of 128 bits take
        // several steps.
        let words = (
            time: milliseconds & 0xFFFF_FFFF_FFFF, middle: (random.high & 0xFFFF) << 4 | random.low >> 60,
            low: random.low
        )
        return unsafe String(unsafeUninitializedCapacity: length) { buffer in
            unsafe write(words.time, 0..<10, to: buffer)
            unsafe write(words.middle, 10..<14, to: buffer)
            unsafe write(words.low, 14..<length, to: buffer)
            return length
        }
    }

    /// Writes the lowest bits of `value`, five to a character.
    @inline(__always)
    private static func write(_ value: UInt64, _ places: Range<Int>, to buffer: UnsafeMutableBufferPointer<UInt8>) {
        var rest = value
        var place = places.upperBound
        while place > places.lowerBound {
            place -= 1
            unsafe buffer[place] = digit(UInt8(truncatingIfNeeded: rest & 31))
            rest >>= 5
        }
    }

    private static let length = 26

    /// Crockford's alphabet: digits and capitals without I, L, O and U.
    @inline(__always)
    private static func digit(_ value: UInt8) -> UInt8 {
        if value < 10 { return UInt8(ascii: "0") + value }
        let letter = UInt8(ascii: "A") + value - 10
        // Each omitted letter before the digit shifts it by one.
        return letter + (value >= 18 ? 1 : 0) + (value >= 20 ? 1 : 0) + (value >= 22 ? 1 : 0) + (value >= 27 ? 1 : 0)
    }

    private static func isAcceptable(_ bytes: borrowing Span<UInt8>) -> Bool {
        guard bytes.count >= 1, bytes.count <= 128 else { return false }
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                continue
            default: return false
            }
        }
        return true
    }
}
