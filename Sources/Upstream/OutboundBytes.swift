internal import HTTP1
internal import NIOCore

/// The part of a request that is still to be sent: its head, and behind it the body as it comes, framed (RFC 9112 §6,
/// §7.1).
struct OutboundBytes {
    private let framing: BodyFraming
    /// Bytes that have come and are not sent yet, with those of ``later`` behind them.
    private(set) var waiting: ByteBuffer
    /// Parts of a body of known length. Large ones are as they came, and share the memory of what was received with them;
    /// small ones are copied together, since TLS makes a record of each buffer.
    private(set) var later: [ByteBuffer] = []
    private var laterBytes = 0
    /// Whether the last of them is a copy, to which more can be added.
    private var lastIsCopy = false
    /// Whether no other memory than its own is held.
    private var isKept = false
    /// Whether nothing more comes.
    private(set) var isComplete: Bool

    /// As many bytes wait for the end of a turn.
    private static let most = 64 << 10
    private static let leastShared = 1 << 10

    init(_ request: borrowing ForwardedRequest) {
        framing = request.framing
        waiting = request.head
        isComplete = request.framing == .none
    }

    var isEmpty: Bool { waiting.readableBytes == 0 }

    /// Whether it should leave before more is taken.
    var isMuch: Bool { waiting.readableBytes + laterBytes >= Self.most }

    /// Nothing is left to send, now or later.
    var isAllSent: Bool { isComplete && isEmpty }

    /// Takes a part of the body.
    mutating func append(_ body: ByteBuffer) {
        isKept = framing == .chunked
        if framing == .chunked {
            forgetWhatIsSent()
            waiting.writeChunk(body)
        } else if isEmpty {
            waiting = body
        } else {
            appendLater(body)
        }
    }

    private mutating func appendLater(_ body: ByteBuffer) {
        laterBytes += body.readableBytes
        guard body.readableBytes < Self.leastShared else {
            later.append(body)
            lastIsCopy = false
            return
        }
        if later.isEmpty || !lastIsCopy {
            later.append(ByteBufferAllocator().buffer(capacity: body.readableBytes))
            lastIsCopy = true
        }
        later[later.count - 1].writeImmutableBuffer(body)
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
        var count = count
        var gone = 0
        while gone < later.count, count >= waiting.readableBytes {
            count -= waiting.readableBytes
            waiting = later[gone]
            laterBytes -= waiting.readableBytes
            gone += 1
        }
        later.removeFirst(gone)
        waiting.moveReaderIndex(forwardBy: count)
        // Whoever received it may use its memory again.
        if isEmpty, framing != .chunked { waiting = ByteBuffer() }
    }

    /// Copies the bytes that are left, because they wait for a slow backend: they keep nothing of what came with them.
    mutating func keep() {
        guard !isKept else { return }
        isKept = true
        var kept = ByteBufferAllocator().buffer(capacity: waiting.readableBytes + laterBytes)
        kept.writeImmutableBuffer(waiting)
        for part in later { kept.writeImmutableBuffer(part) }
        (waiting, later, laterBytes) = (kept, [], 0)
    }

    /// The request is over, so that its buffer may serve the next.
    mutating func drop() {
        (waiting, later, laterBytes) = (ByteBuffer(), [], 0)
    }

    /// The bytes that follow are no body. They end when the client ends them.
    mutating func becomeTunnel() {
        isComplete = false
    }
}
