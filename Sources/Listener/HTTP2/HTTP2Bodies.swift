internal import HTTP1
internal import NIOCore

/// The body of a stream's request, checked against the announced length (RFC 9113 §8.1.1).
struct HTTP2IncomingBody {
    /// The parts that may be passed on now.
    struct Parts {
        var body: ByteBuffer?
        var hasEnded = false
    }

    private enum State { case awaitingHead, open, ended }

    private var state = State.awaitingHead
    /// The rest of the announced length, in bytes; nil if none was announced.
    private var left: Int?
    /// The part that completes the announced length. It is withheld until the stream ends: if more bytes follow, the
    /// request is malformed, and a backend must not have received it as a complete one.
    private var last: ByteBuffer?

    var isOpen: Bool { state == .open }
    /// Whether the announced length is 0, and the stream has not ended.
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

/// The response written to a stream, checked against the length announced in its head.
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

    /// - Returns: false if the body exceeds the announced length.
    mutating func take(_ count: Int) -> Bool {
        guard let left else { return true }
        self.left = left - count
        return count <= left
    }

    /// - Returns: false if the body is shorter than announced.
    mutating func end() -> Bool {
        hasEnded = true
        return left == nil || left == 0
    }
}
