internal import NIOCore

/// The frames to be sent, in order, collected in few large buffers.
struct HTTP2Output {
    /// The size, in bytes, from which body parts are sent without being copied; smaller ones are copied after the
    /// previous frames.
    let leastPart: Int
    private var whole: [ByteBuffer] = []
    private var last = ByteBuffer()
    private(set) var count = 0

    private static let capacity = 1024

    init(leastPart: Int) {
        self.leastPart = leastPart
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        makeRoom(bytes.count)
        last.writeBytes(bytes)
        count += bytes.count
    }

    mutating func write(_ part: ByteBuffer) {
        count += part.readableBytes
        guard part.readableBytes >= leastPart else {
            makeRoom(part.readableBytes)
            last.writeImmutableBuffer(part)
            return
        }
        endLast()
        whole.append(part)
    }

    private mutating func makeRoom(_ count: Int) {
        if last.storageCapacity == 0 { last = ByteBufferAllocator().buffer(capacity: max(Self.capacity, count)) }
    }

    private mutating func endLast() {
        guard last.readableBytes > 0 else { return }
        whole.append(last)
        last = ByteBuffer()
    }

    /// Passes all frames to `body`, and empties the output.
    mutating func take(_ body: (ByteBuffer) -> Void) {
        let parts = whole
        let rest = last
        whole.removeAll()
        last = ByteBuffer()
        count = 0
        for part in parts { body(part) }
        if rest.readableBytes > 0 { body(rest) }
    }
}
