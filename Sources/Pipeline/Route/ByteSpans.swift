extension Span where Element == UInt8 {
    /// Whether the bytes from `start` on begin with `other`.
    @inline(__always)
    func matches(_ other: borrowing Span<UInt8>, at start: Int = 0) -> Bool {
        guard start >= 0, count - start >= other.count else { return false }
        var index = 0
        while index < other.count {
            if self[start + index] != other[index] { return false }
            index += 1
        }
        return true
    }

    /// How many spaces and tabs the bytes begin with.
    var leadingSpaces: Int {
        var index = 0
        while index < count, self[index] == UInt8(ascii: " ") || self[index] == UInt8(ascii: "\t") { index += 1 }
        return index
    }

    /// Whether the bytes from `start` on begin with `other`, which is in lower case, when ASCII case is ignored.
    func matchesIgnoringCase(_ other: borrowing Span<UInt8>, at start: Int = 0) -> Bool {
        guard start >= 0, count - start >= other.count else { return false }
        var index = 0
        while index < other.count {
            if asciiLowercased(self[start + index]) != other[index] { return false }
            index += 1
        }
        return true
    }
}

/// The byte with `A`–`Z` made lower case.
@inline(__always)
func asciiLowercased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}
