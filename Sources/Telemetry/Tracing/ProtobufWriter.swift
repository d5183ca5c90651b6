/// The parts of the Protocol Buffers wire format that are needed here (protobuf.dev, "Encoding").
extension [UInt8] {
    mutating func appendVarint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        append(UInt8(truncatingIfNeeded: value))
    }

    /// Appends a field of wire type 0. Field numbers are below 16 here, so the key is one byte.
    mutating func appendVarint(field: UInt8, _ value: UInt64) {
        append(field << 3)
        appendVarint(value)
    }

    /// Appends a field of wire type 1: eight bytes, little-endian.
    mutating func appendFixed64(field: UInt8, _ value: UInt64) {
        append(field << 3 | 1)
        appendLittleEndian(value)
    }

    private mutating func appendLittleEndian(_ value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// Appends a field of wire type 2.
    mutating func appendBytes(field: UInt8, _ text: some Collection<UInt8>) {
        append(field << 3 | 2)
        appendVarint(UInt64(text.count))
        append(contentsOf: text)
    }

    /// Appends a packed field: wire type 2 with fixed 64-bit values.
    mutating func appendPacked(field: UInt8, _ values: [UInt64]) {
        append(field << 3 | 2)
        appendVarint(UInt64(values.count) * 8)
        for value in values { appendLittleEndian(value) }
    }

    /// Appends the bytes of an identifier, big-endian.
    mutating func appendBigEndian(_ value: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    /// Appends an embedded message. One byte is reserved for its length, because most messages are shorter than 128
    /// bytes.
    mutating func appendMessage(field: UInt8, _ write: (inout [UInt8]) -> Void) {
        append(field << 3 | 2)
        let place = count
        append(0)
        write(&self)
        let length = count - place - 1
        guard length >= 0x80 else {
            self[place] = UInt8(length)
            return
        }
        var varint: [UInt8] = []
        varint.appendVarint(UInt64(length))
        replaceSubrange(place...place, with: varint)
    }
}
