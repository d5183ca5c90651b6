internal import NIOCore

/// The first nine bytes of a frame (RFC 9113 §4.1).
struct HTTP2FrameHeader: Equatable {
    let length: Int
    let type: HTTP2FrameType
    let flags: UInt8
    let stream: Int32

    static let size = 9
    private static let endHeaders: UInt8 = 4
    private static let padded: UInt8 = 8

    /// - Parameters:
    ///   - start: the first eight bytes.
    ///   - last: the ninth.
    init(_ start: UInt64, _ last: UInt8) {
        length = Int(start >> 40)
        type = HTTP2FrameType(number: UInt8(truncatingIfNeeded: start >> 32))
        flags = UInt8(truncatingIfNeeded: start >> 24)
        // The first bit is reserved.
        stream = Int32(truncatingIfNeeded: (start & 0x7F_FFFF) << 8 | UInt64(last))
    }

    /// Whether the header block continues in another frame (§6.10).
    var leavesBlockOpen: Bool { (type == .headers || type == .continuation) && flags & Self.endHeaders == 0 }

    /// Whether the frame is a complete header block without padding.
    var isWholeBlock: Bool { type == .headers && flags & (Self.endHeaders | Self.padded) == Self.endHeaders }
}

/// Finds the frame headers in a client's bytes, before the session processes them.
struct HTTP2FrameScanner {
    /// The client's preface comes first (RFC 9113 §3.4).
    private var prefaceLeft = Self.prefaceLength
    /// The bytes of an incomplete frame header.
    private var header: UInt64 = 0
    private var headerCount = 0
    private var payloadLeft = 0
    private var isData = false
    /// Whether a header block continues in the next frame.
    private var blockIsOpen = false
    /// Whether a header block was open before the last frame header that was read.
    private(set) var blockWasOpen = false
    /// The number of times that input was complete.
    private(set) var ends = 0

    private static let prefaceLength = 24

    /// Whether the client has begun something that it must complete before anything else can follow: a head, or any
    /// frame except DATA, whose rate is measured separately.
    var isIncomplete: Bool {
        (1..<Self.prefaceLength).contains(prefaceLeft) || headerCount > 0 || blockIsOpen || payloadLeft > 0 && !isData
    }

    /// Returns the next frame header; nil if it is incomplete.
    ///
    /// - Parameter position: the index to begin at; set to the index after the header, or to the end of the bytes.
    mutating func next(in bytes: ByteBuffer, from position: inout Int) -> HTTP2FrameHeader? {
        while position < bytes.writerIndex {
            let left = bytes.writerIndex - position
            if prefaceLeft > 0 {
                position += min(prefaceLeft, left)
                prefaceLeft -= min(prefaceLeft, left)
                noteEnd()
            } else if payloadLeft > 0 {
                position += min(payloadLeft, left)
                payloadLeft -= min(payloadLeft, left)
                noteEnd()
            } else if let header = readHeader(in: bytes, from: &position, left: left) {
                begin(header)
                return header
            }
        }
        return nil
    }

    private mutating func noteEnd() {
        if !isIncomplete { ends += 1 }
    }

    private mutating func begin(_ header: HTTP2FrameHeader) {
        blockWasOpen = blockIsOpen
        payloadLeft = header.length
        isData = header.type == .data
        if header.type == .headers || header.type == .continuation { blockIsOpen = header.leavesBlockOpen }
        noteEnd()
    }

    private mutating func readHeader(
        in bytes: ByteBuffer, from position: inout Int, left: Int
    ) -> HTTP2FrameHeader? {
        if headerCount == 0, left >= HTTP2FrameHeader.size,
            let start = bytes.getInteger(at: position, as: UInt64.self),
            let last = bytes.getInteger(at: position + 8, as: UInt8.self)
        {
            position += HTTP2FrameHeader.size
            return HTTP2FrameHeader(start, last)
        }
        guard let byte = bytes.getInteger(at: position, as: UInt8.self) else { return nil }
        position += 1
        headerCount += 1
        guard headerCount == HTTP2FrameHeader.size else {
            header = header << 8 | UInt64(byte)
            return nil
        }
        defer { (header, headerCount) = (0, 0) }
        return HTTP2FrameHeader(header, byte)
    }
}
