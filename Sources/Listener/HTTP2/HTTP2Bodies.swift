internal import HTTP1
internal import NIOCore

/// The body that a stream's client has sent, checked against the announced length (RFC 9113 §8.1.1).
struct HTTP2IncomingBody {
    /// The parts that may be passed on.
    struct Parts {
        var body: ByteBuffer?
        var hasEnded = false
    }

    private enum State { case awaitingHead, open, ended }

    private var state = State.awaitingHead
    /// The rest of the announced length, in bytes; nil if none was announced.
    private var left: Int?
    /// The part that makes the announced length complete. It waits for the stream's end: with more to follow, the
    /// request is malformed, and a backend must not have taken it for a whole one.
    private var last: ByteBuffer?

    var isOpen: Bool { state == .open }
    /// Whether no body was announced, and the stream has not ended.
    var owesEmptyEnd: Bool { state == .open && left == 0 && last == nil }

    mutating func begin(contentLength: Int?, endStream: Bool) throws(HTTP1Fault) -> Parts {
        state = .open
        left = contentLength
        return endStream ? try end() : Parts()
    }

    mutating func take(_ bytes: ByteBuffer) throws(HTTP1Fault) -> Parts {
        guard state == .open, bytes.readableBytes > 0 else { return Parts() }
        if let left {
            guard bytes.readableBytes <= left else { throw .conflictingFraming }
            self.left = left - bytes.readableBytes
        }
        guard left == 0 else { return Parts(body: bytes) }
        last = bytes
        return Parts()
    }

    mutating func end() throws(HTTP1Fault) -> Parts {
        guard state == .open else { return Parts() }
        guard left == nil || left == 0 else { throw .conflictingFraming }
        state = .ended
        defer { last = nil }
        return Parts(body: last, hasEnded: true)
    }
}

/// The response that was written to a stream, checked against the length that its head announced.
struct HTTP2OutgoingBody {
    private(set) var hasBegun = false
    private(set) var hasBody = false
    private(set) var hasEnded = false
    private var left: Int?

    mutating func begin(_ head: HTTP2ResponseHead) {
        hasBegun = true
        hasBody = head.hasBody
        left = head.contentLength
    }

    /// - Returns: false for more than was announced.
    mutating func take(_ count: Int) -> Bool {
        guard let left else { return true }
        self.left = left - count
        return count <= left
    }

    /// - Returns: false for less than was announced.
    mutating func end() -> Bool {
        hasEnded = true
        return left == nil || left == 0
    }
}
