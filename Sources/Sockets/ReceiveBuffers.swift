internal import NIOCore

/// A buffer of each size, into which all connections of a loop receive. Idle connections have none.
///
/// Where nobody has kept the bytes of the last time, their memory is used again; else another is made, as small as the
/// connection's last reads allow: a client that sends little keeps little.
final class ReceiveBuffers {
    private var buffers = Size.allCases.map { ByteBufferAllocator().buffer(capacity: $0.bytes) }

    /// How much a connection receives at once.
    enum Size: Int, CaseIterable {
        case small, medium, large

        var bytes: Int {
            switch self {
            case .small: 2 << 10
            case .medium: 16 << 10
            case .large: 64 << 10
            }
        }

        /// For the next read, after one that brought `count` bytes.
        func next(after count: Int) -> Size {
            if count == bytes { return Size(rawValue: rawValue + 1) ?? self }
            guard let smaller = Size(rawValue: rawValue - 1), count <= smaller.bytes / 2 else { return self }
            return smaller
        }
    }

    /// - Parameter receive: fills the room, and says how much came, or what recv(2) said in its place.
    /// - Returns: that, and the bytes.
    func receive(
        _ size: Size, _ receive: (UnsafeMutableRawBufferPointer) -> Int
    ) -> (count: Int, bytes: ByteBuffer) {
        var bytes = ByteBuffer()
        swap(&bytes, &buffers[size.rawValue])
        bytes.clear(minimumCapacity: size.bytes)
        var count = 0
        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: size.bytes) { room in
            count = receive(UnsafeMutableRawBufferPointer(rebasing: room.prefix(size.bytes)))
            return max(0, count)
        }
        buffers[size.rawValue] = bytes
        return (count, bytes)
    }
}
