#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The byte classes of RFC 9110 §5.6 and RFC 3986, and the scans that every head goes through.
enum Grammar {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")

    /// tchar (RFC 9110 §5.6.2), by byte value.
    private static let tokenBytes: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { table[Int(byte)] = true }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { table[Int(byte)] = true }
        for byte in "!#$%&'*+-.^_`|~".utf8 { table[Int(byte)] = true }
        return table
    }()

    static func isToken(_ byte: UInt8) -> Bool { tokenBytes[Int(byte)] }

    static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard unsafe !bytes.isEmpty else { return false }
        return unsafe bytes.allSatisfy { tokenBytes[Int($0)] }
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 }

    /// Returns an ASCII letter in lower case; other bytes are unchanged.
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") <= 25 ? byte | 0x20 : byte
    }

    /// Returns the offset of the first LF at or after `start`; nil if there is none.
    static func firstLineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = unsafe memchr(base + start, Int32(lineFeed), bytes.count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }

    /// Whether all bytes are field-vchar, SP or HTAB (RFC 9110 §5.5): no controls and no DEL; obs-text is accepted.
    ///
    /// Nearly all values are visible ASCII and spaces, for which eight bytes are checked at a time: with a bearer token,
    /// the Authorization value has a kilobyte.
    static func isFieldContent(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // A byte's top bit is set by itself, by the addition for DEL, or by the subtraction for a control. A carry or
        // borrow comes only from a byte that has set its own, so no byte is taken for a plain one.
        var special: UInt64 = 0
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            special |= word | (word &+ ones) | (word &- 0x20 &* ones)
            index &+= 8
        }
        if special & (0x80 &* ones) != 0 { index = 0 }
        while index < bytes.count {
            let byte = unsafe bytes[index]
            if (byte < 0x20 && byte != tab) || byte == 0x7F { return false }
            index &+= 1
        }
        return true
    }

    static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var all: UInt64 = 0
        var index = 0
        while index &+ 8 <= bytes.count {
            unsafe all |= bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < bytes.count {
            unsafe all |= UInt64(bytes[index])
            index &+= 1
        }
        return all & 0x8080_8080_8080_8080 == 0
    }

    /// Returns `bytes` without leading and trailing SP and HTAB (OWS, RFC 9110 §5.6.3).
    static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, unsafe bytes[start] == space || bytes[start] == tab { start &+= 1 }
        while end > start, unsafe bytes[end &- 1] == space || bytes[end &- 1] == tab { end &-= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// Whether `bytes` equals `literal`, which must be in lower case, ignoring the case of `bytes`.
    static func equals(_ bytes: UnsafeRawBufferPointer, ignoringCase literal: StaticString) -> Bool {
        let count = bytes.count
        guard count == literal.utf8CodeUnitCount else { return false }
        let expected = unsafe UnsafeRawBufferPointer(start: literal.utf8Start, count: count)
        guard count >= 8 else {
            for index in 0..<count where unsafe lowercased(bytes[index]) != expected[index] { return false }
            return true
        }
        // Compares 8 bytes at a time; the last 8 overlap the previous ones.
        var index = 0
        while true {
            let word = unsafe lowercased(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            guard unsafe word == expected.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            if index == count &- 8 { return true }
            index = min(index &+ 8, count &- 8)
        }
    }

    /// Converts the ASCII letters among eight bytes to lower case.
    private static func lowercased(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = word & (0x7F * ones)
        // The top bit of each byte is set from A on, and beyond Z, respectively. No byte's sum carries into the next.
        let fromA = low + (0x80 - 0x41) * ones
        let beyondZ = low + (0x80 - 0x5B) * ones
        let isCapital = (fromA & ~beyondZ & ~word) & (0x80 * ones)
        return word | isCapital >> 2
    }

    /// Whether the last element of the comma-separated list `bytes` is `literal`.
    static func endsInCoding(_ bytes: UnsafeRawBufferPointer, _ literal: StaticString) -> Bool {
        let start = unsafe bytes.lastIndex(of: UInt8(ascii: ",")).map { $0 + 1 } ?? 0
        return unsafe equals(trimmed(UnsafeRawBufferPointer(rebasing: bytes[start...])), ignoringCase: literal)
    }
}
