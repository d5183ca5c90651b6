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

    /// Whether its header block goes on in another frame (§6.10).
    var leavesBlockOpen: Bool { (type == .headers || type == .continuation) && flags & Self.endHeaders == 0 }

    /// Whether it is a header block, and nothing else.
    var isWholeBlock: Bool { type == .headers && flags & (Self.endHeaders | Self.padded) == Self.endHeaders }
}

/// Finds the frames in the bytes of a client, before the session does.
struct HTTP2FrameScanner {
    /// The client's preface comes first (RFC 9113 §3.4).
    private var prefaceLeft = Self.prefaceLength
    /// Of a frame's header, as far as it has come.
    private var header: UInt64 = 0
    private var headerCount = 0
    private var payloadLeft = 0
    private var isData = false
    /// A header block goes on in the next frame.
    private var blockIsOpen = false
    /// Whether it went on in the frame whose header was read last, or should have.
    private(set) var blockWasOpen = false
    /// How often nothing was owed any more.
    private(set) var ends = 0

    private static let prefaceLength = 24

    /// Whether the client has begun what it must end before anything else can come: a head, or any frame but a part of
    /// a body, which is measured by itself.
    var isIncomplete: Bool {
        (1..<Self.prefaceLength).contains(prefaceLeft) || headerCount > 0 || blockIsOpen || payloadLeft > 0 && !isData
    }

    /// The next frame's header, when all of it is there.
    ///
    /// - Parameter position: where to begin; becomes the index behind the header, or behind the bytes.
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
