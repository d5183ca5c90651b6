extension OutputSpan<UInt8> {
    /// Appends `text`, for which there must be room.
    mutating func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends `bytes`, for which there must be room.
    mutating func append(_ bytes: borrowing Span<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Appends the eight bytes of `number`, the highest first.
    mutating func append(bigEndian number: UInt64) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe append($0) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            precondition(bytes.count <= buffer.count - count, "room for what is appended")
            guard let start = buffer.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
            count += bytes.count
        }
    }
}
