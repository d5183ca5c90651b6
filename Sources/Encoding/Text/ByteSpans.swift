extension Span where Element == UInt8 {
    /// Whether the bytes from `start` on begin with `other`.
    @inlinable @inline(__always)
    package func matches(_ other: borrowing Span<UInt8>, at start: Int = 0) -> Bool {
        guard start >= 0, count - start >= other.count else { return false }
        var index = 0
        while index < other.count {
            if self[start + index] != other[index] { return false }
            index += 1
        }
        return true
    }

    /// Whether both have the same bytes; compared eight at a time.
    @inlinable
    package func hasSameBytes(as other: borrowing Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while count - index >= 8 {
            if word(at: index) != other.word(at: index) { return false }
            index += 8
        }
        while index < count {
            if self[index] != other[index] { return false }
            index += 1
        }
        return true
    }

    /// The index of the first such byte from `start` on; searched eight at a time.
    @inlinable
    package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        firstIndex(from: start) { $0.bytes(equalTo: byte) }
    }

    /// The index of the first wanted byte from `start` on; searched eight at a time.
    ///
    /// - Parameter wanted: returns a word with the highest bit of the first wanted byte set, and possibly bits above
    ///   it; 0 if no byte of the word is wanted.
    @inlinable @inline(__always)
    package func firstIndex(from start: Int = 0, where wanted: (_ word: UInt64) -> UInt64) -> Int? {
        var index = start
        while count - index >= 8 {
            let places = wanted(word(at: index))
            guard places == 0 else { return index + places.trailingZeroBitCount / 8 }
            index += 8
        }
        // Eight copies of the byte.
        while index < count, wanted(0x0101_0101_0101_0101 &* UInt64(self[index])) == 0 { index += 1 }
        return index < count ? index : nil
    }

    /// The eight bytes from `index` on, the first of them in the lowest bits.
    @inlinable @inline(__always)
    package func word(at index: Int) -> UInt64 {
        UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// The number of leading spaces and tabs.
    @inlinable
    package var leadingSpaces: Int {
        var index = 0
        while index < count, self[index] == UInt8(ascii: " ") || self[index] == UInt8(ascii: "\t") { index += 1 }
        return index
    }

    /// Whether the bytes from `start` on begin with `other`, which must be in lower case. ASCII case is ignored.
    @inlinable
    package func matchesIgnoringCase(_ other: borrowing Span<UInt8>, at start: Int = 0) -> Bool {
        guard start >= 0, count - start >= other.count else { return false }
        var index = 0
        while index < other.count {
            if asciiLowercased(self[start + index]) != other[index] { return false }
            index += 1
        }
        return true
    }
}

extension UInt64 {
    /// The highest bit is set in each byte of this value, and possibly in some bytes above the first such byte: the
    /// subtraction borrows only from the byte above a zero byte (Warren, Hacker's Delight, 6-1).
    @inlinable @inline(__always)
    package func bytes(equalTo byte: UInt8) -> UInt64 {
        let difference = self ^ 0x0101_0101_0101_0101 &* UInt64(byte)
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }

    /// The same for bytes below this one, which is at most 0x80.
    @inlinable @inline(__always)
    package func bytes(below byte: UInt8) -> UInt64 {
        (self &- 0x0101_0101_0101_0101 &* UInt64(byte)) & ~self & 0x8080_8080_8080_8080
    }
}

/// The byte with `A`–`Z` made lower case.
@inlinable @inline(__always)
package func asciiLowercased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}

extension [UInt8] {
    /// Appends the text's UTF-8, copied as a whole.
    @inlinable @inline(__always)
    package mutating func append(_ text: String) { append(text.utf8.span) }

    /// Appends the bytes, copied as a whole.
    @inlinable @inline(__always)
    package mutating func append(_ bytes: borrowing Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
