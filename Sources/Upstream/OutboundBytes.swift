internal import HTTP1
internal import NIOCore

/// The unsent bytes of a request: its head, followed by the framed body as it arrives (RFC 9112 §6, §7.1).
struct OutboundBytes {
    private let framing: BodyFraming
    /// The first unsent bytes; those of ``later`` follow.
    private(set) var waiting: ByteBuffer
    /// Parts of a body of known length. Large ones share the memory of the received buffers. Small ones are copied
    /// together, since TLS makes a record of each buffer.
    private(set) var later: [ByteBuffer] = []
    private var laterBytes = 0
    /// Whether the last part is a copy, to which more can be appended.
    private var lastIsCopy = false
    /// Whether all unsent bytes are copies that retain no received buffer.
    private var isKept = false
    /// Whether nothing more is appended.
    private(set) var isComplete: Bool

    /// The number of bytes from which the request is flushed before the end of the turn.
    private static let most = 64 << 10
    private static let leastShared = 1 << 10

    init(_ request: borrowing ForwardedRequest) {
        framing = request.framing
        waiting = request.head
        isComplete = request.framing == .none
    }

    var isEmpty: Bool { waiting.readableBytes == 0 }

    /// Whether the bytes should be sent before more are appended.
    var isMuch: Bool { waiting.readableBytes + laterBytes >= Self.most }

    /// Whether nothing is left to send, now or later.
    var isAllSent: Bool { isComplete && isEmpty }

    /// Appends a part of the body.
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

    /// Discards sent bytes; otherwise appending would collect the whole body in one buffer.
    private mutating func forgetWhatIsSent() {
        if isEmpty {
            waiting.clear()
        } else if waiting.readerIndex >= 64 << 10 {
            waiting.discardReadBytes()
        }
    }

    /// Ends the body.
    mutating func end() {
        if framing == .chunked { waiting.writeStaticString("0\r\n\r\n") }
        isComplete = true
    }

    /// Removes sent bytes from the front.
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
        // Releases the received buffer for reuse.
        if isEmpty, framing != .chunked { waiting = ByteBuffer() }
    }

    /// Copies the unsent bytes, because they wait for a slow backend, and releases the received buffers.
    mutating func keep() {
        guard !isKept else { return }
        isKept = true
        var kept = ByteBufferAllocator().buffer(capacity: waiting.readableBytes + laterBytes)
        kept.writeImmutableBuffer(waiting)
        for part in later { kept.writeImmutableBuffer(part) }
        (waiting, later, laterBytes) = (kept, [], 0)
    }

    /// Releases all buffers at the end of the request, so that they can be reused.
    mutating func drop() {
        (waiting, later, laterBytes) = (ByteBuffer(), [], 0)
    }

    /// Switches to a tunnel: the bytes that follow are not a body, and end when the client ends them.
    mutating func becomeTunnel() {
        isComplete = false
    }
}
