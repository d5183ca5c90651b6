internal import HTTP1
internal import HTTP2
internal import NIOCore

/// A cache of a connection's last long Huffman-coded value and its decoded form.
///
/// libnghttp2 decodes four bits at a time: for a token of a kilobyte, a fifth of a small request's instructions.
/// Clients send their token with each request, and many never index it (RFC 7541 §7.1.3), so the code repeats. From its
/// second occurrence on, the session receives the head with the value as a plain literal; strings may have either form
/// (§5.2).
///
/// Only heads that arrive complete in one frame are examined. All others, and malformed ones, are left to the session.
struct HTTP2RepeatedLiteral {
    /// The lengths, in bytes, of codes that are cached.
    private static let lengths = 128...4096
    /// The longest payload of a frame, in bytes (RFC 9113 §4.2).
    private static let mostPayload = 1 << 14
    private static let priority: UInt8 = 0x20
    private static let prioritySize = 5

    private var code: [UInt8] = []
    /// The value as a plain string literal with its length; nil until the code has occurred twice.
    private var literal: [UInt8]?
    private var frame = ByteBuffer()

    /// - Parameters:
    ///   - header: the header of a HEADERS frame without padding that contains the whole head.
    ///   - start: the index of that frame in `bytes`, which contains all of it.
    /// - Returns: the frame to process instead; nil if there is none.
    mutating func decoded(_ header: HTTP2FrameHeader, _ bytes: ByteBuffer, at start: Int) -> ByteBuffer? {
        guard header.length <= Self.mostPayload else { return nil }
        let begin = start - bytes.readerIndex
        let range = begin..<begin + HTTP2FrameHeader.size + header.length
        return unsafe bytes.withUnsafeReadableBytes { bytes in
            let whole = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            let skipped = header.flags & Self.priority != 0 ? Self.prioritySize : 0
            guard let string = unsafe Self.longString(in: whole, from: HTTP2FrameHeader.size + skipped),
                let literal = unsafe literal(for: UnsafeRawBufferPointer(rebasing: whole[string.code]))
            else { return nil }
            let length = header.length - string.whole.count + literal.count
            guard length <= Self.mostPayload else { return nil }
            frame.clear(minimumCapacity: HTTP2FrameHeader.size + length)
            frame.write(atMost: HTTP2FrameHeader.size + length) { frame in
                let start = UInt32(length) << 8 | UInt32(HTTP2FrameType.headers.number)
                unsafe withUnsafeBytes(of: start.bigEndian) { unsafe frame.write($0) }
                unsafe frame.write(UnsafeRawBufferPointer(rebasing: whole[4..<string.whole.lowerBound]))
                unsafe literal.withUnsafeBytes { unsafe frame.write($0) }
                unsafe frame.write(UnsafeRawBufferPointer(rebasing: whole[string.whole.upperBound...]))
            }
            return frame
        }
    }

    mutating func forget() {
        self = HTTP2RepeatedLiteral()
    }

    private mutating func literal(for code: UnsafeRawBufferPointer) -> [UInt8]? {
        guard unsafe self.code.withUnsafeBytes({ unsafe RepeatedField.areEqual($0, code) }) else {
            self.code = unsafe Array(code)
            literal = nil
            return nil
        }
        if literal == nil, let value = unsafe HuffmanCode.decoded(code) {
            var made: [UInt8] = []
            HPACKInteger.append(value.count, prefix: 7, marked: 0, to: &made)
            literal = made + value
        }
        return literal
    }

    /// Returns the range of the first long Huffman-coded value in a head, with and without its length (RFC 7541 §6).
    ///
    /// - Parameter start: the index of the head's first field.
    private static func longString(
        in frame: UnsafeRawBufferPointer, from start: Int
    ) -> (whole: Range<Int>, code: Range<Int>)? {
        var index = start
        while index < frame.count {
            let first = unsafe frame[index]
            // An indexed field, or a dynamic table size update.
            if first & 0x80 != 0 || first & 0xE0 == 0x20 {
                guard unsafe HPACKInteger.read(frame, at: &index, prefix: first & 0x80 != 0 ? 7 : 5) != nil else {
                    return nil
                }
                continue
            }
            guard let name = unsafe HPACKInteger.read(frame, at: &index, prefix: first & 0x40 != 0 ? 6 : 4) else {
                return nil
            }
            if name == 0, unsafe string(in: frame, at: &index) == nil { return nil }
            let begin = index
            guard let value = unsafe string(in: frame, at: &index) else { return nil }
            if unsafe frame[begin] & 0x80 != 0, lengths.contains(value.count) { return (begin..<index, value) }
        }
        return nil
    }

    /// Returns the range of a string's bytes, without its length.
    ///
    /// - Parameter index: the index of the string; set to the index after it.
    private static func string(in frame: UnsafeRawBufferPointer, at index: inout Int) -> Range<Int>? {
        guard let length = unsafe HPACKInteger.read(frame, at: &index, prefix: 7), length <= frame.count - index else {
            return nil
        }
        index += length
        return index - length..<index
    }
}
