internal import Glibc
package import NIOCore

/// A reusable array of buffers for sendmsg(2).
package final class IOVectors {
    private let parts = UnsafeMutableBufferPointer<iovec>.allocate(capacity: most)
    /// The most buffers that Linux accepts (`UIO_MAXIOV`).
    package static let most = 1024

    init() { parts.initialize(repeating: iovec()) }

    deinit { parts.deallocate() }

    /// Sets an entry to the readable bytes of `buffer`, which must not move before they are sent.
    package func set(_ index: Int, to buffer: ByteBuffer) {
        parts[index] = buffer.withUnsafeReadableBytes {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
    }

    /// Sends the first `count` entries.
    ///
    /// - Returns: the result of sendmsg(2).
    package func send(_ count: Int, to descriptor: Int32) -> Int {
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = count
        return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
    }
}
