internal import NIOCore

/// Reads the frame headers (RFC 9113 §4.1) in the bytes of a client, and cuts the bytes for SwiftNIO's parser.
///
/// That parser discards what it has read only when a frame ends where its buffer ends. A client whose every write ends
/// within a frame would make it store all that it was ever sent. So a frame that began in an earlier read ends a piece:
/// the parser then holds no more than one read and one frame.
struct HTTP2FrameReader {
    var budget = HTTP2FrameBudget()
    /// Whether the client sends more of some kind of frame than it has reason to. No more pieces come then.
    private(set) var isFlooded = false

    /// The streams that parts of DATA frames came for since ``forgetParts()``, in their order, and how many in a row.
    private(set) var parts: [(stream: Int32, count: Int)] = []
    /// The stream of the DATA frame whose payload is being read.
    private var dataStream: Int32?

    /// Bytes left of the present frame's payload. A connection begins with the preface (§3.4).
    private var left = 24
    /// The first bytes of a frame's header whose rest has not come.
    private var header = ByteBuffer()
    /// A frame was too large. SwiftNIO fails the connection at its header.
    private var isOver = false

    /// SETTINGS_MAX_FRAME_SIZE (§6.5.2); the listener announces no other.
    private static let maxFrameSize = 1 << 14
    static let headerLength = 9

    /// The next piece of what was read, to be parsed before the one that follows. Its bytes are those of `bytes`, in
    /// their order.
    ///
    /// - Returns: nil when all of it was taken, or when the rest is to be thrown away.
    mutating func next(from bytes: inout ByteBuffer) -> ByteBuffer? {
        guard bytes.readableBytes > 0, !isFlooded, !isOver else { return nil }
        let endsWithFrame = isWithinFrame
        var position = bytes.readerIndex
        repeat {
            if left > 0 {
                let count = min(left, bytes.writerIndex - position)
                if position == bytes.readerIndex, let dataStream { addPart(dataStream) }
                left -= count
                position += count
            } else {
                position += readHeader(in: bytes, at: position)
            }
            if isFlooded { return nil }
        } while position < bytes.writerIndex && !isOver && !(endsWithFrame && !isWithinFrame)
        return bytes.readSlice(length: position - bytes.readerIndex)
    }

    mutating func forgetParts() { parts.removeAll(keepingCapacity: true) }

    private mutating func addPart(_ stream: Int32) {
        if let last = parts.last, last.stream == stream {
            parts[parts.count - 1].count += 1
        } else {
            parts.append((stream, 1))
        }
    }

    private var isWithinFrame: Bool { left > 0 || header.readableBytes > 0 }

    /// - Returns: the number of bytes that belong to the header.
    private mutating func readHeader(in bytes: ByteBuffer, at position: Int) -> Int {
        let count = min(Self.headerLength - header.readableBytes, bytes.writerIndex - position)
        if count == Self.headerLength {
            begin(bytes, at: position)
        } else {
            var part = bytes.getSlice(at: position, length: count) ?? ByteBuffer()
            header.writeBuffer(&part)
            if header.readableBytes == Self.headerLength {
                begin(header, at: header.readerIndex)
                header.clear()
            }
        }
        return count
    }

    /// Takes a whole frame header.
    private mutating func begin(_ bytes: ByteBuffer, at position: Int) {
        guard let lengthAndType = bytes.getInteger(at: position, as: UInt32.self),
            let stream = bytes.getInteger(at: position + 5, as: Int32.self)
        else { return }
        left = Int(lengthAndType >> 8)
        let type = HTTP2FrameType(number: UInt8(truncatingIfNeeded: lengthAndType))
        // The first bit is reserved (§4.1).
        dataStream = type == .data ? stream & .max : nil
        if let dataStream { addPart(dataStream) }
        if left > Self.maxFrameSize {
            left = 0
            isOver = true
        } else if !budget.take(type) {
            isFlooded = true
        }
    }
}
