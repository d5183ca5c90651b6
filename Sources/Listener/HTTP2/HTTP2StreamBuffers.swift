internal import HTTP2
internal import NIOCore

/// The part of a request's body that waits until the service accepts it. The stream's window limits its size.
struct HTTP2StreamInput {
    /// The waiting bytes, copied into one buffer, so that they do not retain the buffers of other frames.
    private var stored = ByteBuffer()
    /// Whether nothing follows.
    var hasEnded = false
    /// The bytes passed to a paused service. The client's window is not yet extended for them.
    private var unconsumed = 0

    var isEmpty: Bool { stored.readableBytes == 0 }

    mutating func store(_ part: ByteBuffer) { stored.writeImmutableBuffer(part) }

    mutating func take() -> ByteBuffer? {
        guard !isEmpty else { return nil }
        defer { stored = ByteBuffer() }
        return stored
    }

    /// Counts bytes passed to the service.
    ///
    /// - Returns: the number of bytes by which the client's window is extended.
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
    /// The number of `parts` that have been taken.
    private var taken = 0
    private var count = 0
    /// Whether the last of `parts` is a copy of small parts.
    private var lastIsCopy = false
    /// Whether nothing follows.
    var hasEnded = false
    /// Whether the service has been paused.
    var isHeldBack = false

    private static let high = 64 << 10
    private static let low = 32 << 10
    /// The size in bytes below which a part is copied if others are waiting.
    private static let small = 4 << 10
    /// The size in bytes at which a copy ends. A copy that is appended to while it is sent would grow without limit.
    private static let mostCopied = 16 << 10

    var isTooMuch: Bool { count > Self.high }
    var hasRoom: Bool { count <= Self.low }
    /// Whether no bytes are waiting and nothing follows.
    var isEnd: Bool { hasEnded && count == 0 }

    /// Appends a part. Small ones behind the first are copied together: each would retain the whole buffer that it was
    /// received in, 64 KiB for a few bytes.
    mutating func append(_ part: ByteBuffer) {
        count += part.readableBytes
        guard part.readableBytes < Self.small, taken < parts.count else {
            parts.append(part)
            lastIsCopy = false
            return
        }
        if !lastIsCopy || parts[parts.count - 1].writerIndex >= Self.mostCopied {
            parts.append(ByteBufferAllocator().buffer(capacity: max(part.readableBytes, 256)))
            lastIsCopy = true
        }
        parts[parts.count - 1].writeImmutableBuffer(part)
    }

    /// Returns the contents of the next DATA frame; nil if there are none yet.
    func next(atMost most: Int) -> HTTP2BodyStep? {
        guard count > 0 || hasEnded else { return nil }
        let size = min(count, most)
        return HTTP2BodyStep(count: size, next: hasEnded && size == count ? .end : .body)
    }

    /// Removes and returns the next bytes, from one part.
    mutating func take(atMost most: Int) -> ByteBuffer {
        guard taken < parts.count else { return ByteBuffer() }
        guard let slice = parts[taken].readSlice(length: min(most, parts[taken].readableBytes)) else {
            return ByteBuffer()
        }
        count -= slice.readableBytes
        if parts[taken].readableBytes == 0 {
            parts[taken] = ByteBuffer()
            taken += 1
            // Moves at most the number of parts that have been taken.
            if taken == parts.count || (taken > 32 && taken * 2 > parts.count) {
                parts.removeFirst(taken)
                taken = 0
            }
        }
        return slice
    }

    mutating func removeAll() {
        parts.removeAll()
        (taken, count, hasEnded, lastIsCopy) = (0, 0, false, false)
    }
}
