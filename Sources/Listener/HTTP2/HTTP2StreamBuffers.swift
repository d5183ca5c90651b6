internal import HTTP2
internal import NIOCore

/// The part of a request's body that waits until the service wants it. The stream's window bounds it.
struct HTTP2StreamInput {
    /// In one buffer, whatever the frames were: a part that waits keeps nothing of what came with it.
    private var stored = ByteBuffer()
    /// Nothing follows.
    var hasEnded = false
    /// Given to the service, which does not want more yet. The client may not send more for these bytes.
    private var unconsumed = 0

    var isEmpty: Bool { stored.readableBytes == 0 }

    mutating func store(_ part: ByteBuffer) { stored.writeImmutableBuffer(part) }

    mutating func take() -> ByteBuffer? {
        guard !isEmpty else { return nil }
        defer { stored = ByteBuffer() }
        return stored
    }

    /// The service has got so many bytes.
    ///
    /// - Returns: how many more the client may send.
    mutating func consumed(_ count: Int, isPaused: Bool) -> Int {
        unconsumed += count
        guard !isPaused else { return 0 }
        defer { unconsumed = 0 }
        return unconsumed
    }
}

/// The part of a response's body that is not in a DATA frame yet.
struct HTTP2StreamOutput {
    private var parts: [ByteBuffer] = []
    /// How many of them have been taken.
    private var taken = 0
    private var count = 0
    /// Nothing follows.
    var hasEnded = false
    /// Whether the service has been told to wait.
    var isHeldBack = false

    private static let high = 64 << 10
    private static let low = 32 << 10

    var isTooMuch: Bool { count > Self.high }
    var hasRoom: Bool { count <= Self.low }
    /// Whether nothing is there, and nothing follows.
    var isEnd: Bool { hasEnded && count == 0 }

    mutating func append(_ part: ByteBuffer) {
        parts.append(part)
        count += part.readableBytes
    }

    /// The contents of the next DATA frame; nil: nothing is there.
    func next(atMost most: Int) -> HTTP2BodyStep? {
        guard count > 0 || hasEnded else { return nil }
        let size = min(count, most)
        return HTTP2BodyStep(count: size, next: hasEnded && size == count ? .end : .body)
    }

    /// The next bytes, of one part.
    mutating func take(atMost most: Int) -> ByteBuffer {
        guard taken < parts.count else { return ByteBuffer() }
        guard let slice = parts[taken].readSlice(length: min(most, parts[taken].readableBytes)) else {
            return ByteBuffer()
        }
        count -= slice.readableBytes
        if parts[taken].readableBytes == 0 {
            parts[taken] = ByteBuffer()
            taken += 1
            // Moves no more parts than have been taken.
            if taken == parts.count || (taken > 32 && taken * 2 > parts.count) {
                parts.removeFirst(taken)
                taken = 0
            }
        }
        return slice
    }

    mutating func removeAll() {
        parts.removeAll()
        (taken, count, hasEnded) = (0, 0, false)
    }
}
