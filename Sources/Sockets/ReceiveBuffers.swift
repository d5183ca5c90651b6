package import NIOCore

/// Receive buffers of a loop, one of each size, shared by all connections. Idle connections hold none.
///
/// A buffer's memory is reused if nothing references its last contents; otherwise a new buffer is allocated, as small
/// as the connection's last reads allow: a client that sends little occupies little memory.
package final class ReceiveBuffers {
    private var buffers = Size.allCases.map { ByteBufferAllocator().buffer(capacity: $0.bytes) }

    package init() {}

    /// The size of a single receive.
    package enum Size: Int, CaseIterable {
        case small, medium, large

        var bytes: Int {
            switch self {
            case .small: 2 << 10
            case .medium: 16 << 10
            case .large: 64 << 10
            }
        }

        /// Returns the smallest size that `count` bytes fit in; the largest if they fit in none.
        package static func least(for count: Int) -> Size {
            count <= small.bytes ? .small : count <= medium.bytes ? .medium : .large
        }

        /// Returns the size of the next receive, after one of `count` bytes.
        func next(after count: Int) -> Size {
            if count == bytes { return Size(rawValue: rawValue + 1) ?? self }
            guard let smaller = Size(rawValue: rawValue - 1), count <= smaller.bytes / 2 else { return self }
            return smaller
        }
    }

    /// - Parameter receive: fills the buffer, and returns the number of bytes, or a result of recv(2) that is not
    ///   positive.
    /// - Returns: the result of `receive`, and the bytes.
    package func receive(
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
