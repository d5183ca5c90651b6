extension OutputSpan<UInt8> {
    /// Appends `text`. There must be room for it.
    @inlinable
    package mutating func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends `bytes`. There must be room for them.
    @inlinable
    package mutating func append(_ bytes: borrowing Span<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Appends the eight bytes of `number`, the most significant first.
    @inlinable
    package mutating func append(bigEndian number: UInt64) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe append($0) }
    }

    /// Appends `number` as 16 lower-case hexadecimal digits, eight at a time: every request has a `traceparent`.
    @inlinable @inline(__always)
    package mutating func append(hexadecimal number: UInt64) {
        append(bigEndian: Self.digits(UInt32(truncatingIfNeeded: number >> 32)))
        append(bigEndian: Self.digits(UInt32(truncatingIfNeeded: number)))
    }

    /// Appends `number` as two lower-case hexadecimal digits.
    @inlinable
    package mutating func append(hexadecimal number: UInt8) {
        let digits = Self.digits(UInt32(number))
        append(UInt8(truncatingIfNeeded: digits >> 8))
        append(UInt8(truncatingIfNeeded: digits))
    }

    /// Eight digits as ASCII, the last in the lowest byte.
    @inlinable @inline(__always)
    static func digits(_ number: UInt32) -> UInt64 {
        // One nibble to each byte.
        var value = UInt64(number)
        value = (value | value << 16) & 0x0000_FFFF_0000_FFFF
        value = (value | value << 8) & 0x00FF_00FF_00FF_00FF
        value = (value | value << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte whose digit is a letter, which is 39 further than a decimal digit would be.
        let letters = (value + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return value + 0x3030_3030_3030_3030 + letters * 39
    }

    @inlinable
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            precondition(bytes.count <= buffer.count - count, "room for what is appended")
            guard let start = buffer.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
            count += bytes.count
        }
    }
}
