internal import Glibc
package import NIOCore

/// Room for the buffers of one sendmsg(2).
package final class MessageParts {
    private let parts = UnsafeMutableBufferPointer<iovec>.allocate(capacity: most)
    /// As many as Linux takes (`UIO_MAXIOV`).
    package static let most = 1024

    init() { parts.initialize(repeating: iovec()) }

    deinit { parts.deallocate() }

    /// Makes the readable bytes of `buffer` the part of this number. They must stay in their place until they were sent.
    package func set(_ index: Int, to buffer: ByteBuffer) {
        parts[index] = buffer.withUnsafeReadableBytes {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    /// Sends the first `count` parts.
    ///
    /// - Returns: what sendmsg(2) returns.
    package func send(_ count: Int, to descriptor: Int32) -> Int {
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = count
        return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
    }
}
