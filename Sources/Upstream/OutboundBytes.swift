internal import HTTP1
internal import NIOCore

/// The part of a request that is still to be sent: its head, and behind it the body as it comes, framed (RFC 9112 §6,
/// §7.1).
struct OutboundBytes {
    private let framing: BodyFraming
    /// Bytes that have come and are not sent yet.
    private(set) var waiting: ByteBuffer
    /// Whether nothing more comes.
    private(set) var isComplete: Bool

    init(_ request: borrowing ForwardedRequest) {
        framing = request.framing
        waiting = request.head
        isComplete = request.framing == .none
    }

    var isEmpty: Bool { waiting.readableBytes == 0 }

    /// Nothing is left to send, now or later.
    var isAllSent: Bool { isComplete && isEmpty }

    /// Takes a part of the body.
    mutating func append(_ body: ByteBuffer) {
        forgetWhatIsSent()
        if framing == .chunked {
            waiting.writeChunk(body)
        } else if isEmpty {
            waiting = body
        } else {
            waiting.writeImmutableBuffer(body)
        }
    }

    /// Else what is written behind it would make one buffer of the whole body.
    private mutating func forgetWhatIsSent() {
        if isEmpty {
            waiting.clear()
        } else if waiting.readerIndex >= 64 << 10 {
            waiting.discardReadBytes()
        }
    }

    /// The body ends here.
    mutating func end() {
        if framing == .chunked { waiting.writeStaticString("0\r\n\r\n") }
        isComplete = true
    }

    /// So many of the waiting bytes have left.
    mutating func sent(_ count: Int) {
        waiting.moveReaderIndex(forwardBy: count)
    }

    /// The request is over, so that its buffer may serve the next.
    mutating func drop() {
        waiting = ByteBuffer()
    }

    /// The bytes that follow are no body. They end when the client ends them.
    mutating func becomeTunnel() {
        isComplete = false
    }
}
