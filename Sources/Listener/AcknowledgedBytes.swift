internal import Glibc
internal import NIOCore

/// The bytes written to a connection that the client's TCP stack has acknowledged.
///
/// Bytes that leave the channel do not show this. The kernel buffers up to megabytes, and accepts more only when a
/// third of them has been sent; a slow client that reads all the time may need minutes for that.
enum AcknowledgedBytes {
    /// `struct tcp_info` of linux/tcp.h up to `tcpi_bytes_acked`, which exists since Linux 4.1; on older kernels it is
    /// 0.
    private struct TCPInfo: Sendable {
        typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64)

        var stateAndFlags: UInt64
        var numbers: (Words, Words)
        var numbersLeft: (UInt64, UInt64)
        var rates: (UInt64, UInt64)
        var acknowledged: UInt64
    }

    /// Returns the total since the connection was opened; nil if the channel is not a TCP connection.
    ///
    /// - Precondition: on the channel's event loop.
    static func of(_ channel: any Channel) -> UInt64? {
        guard let socket = channel as? any SocketOptionProvider else { return nil }
        let info: EventLoopFuture<TCPInfo> = socket.unsafeGetSocketOption(
            level: .tcp, name: NIOBSDSocket.Option(rawValue: CInt(TCP_INFO)))
        var acknowledged: UInt64?
        info.assumeIsolated().whenSuccess { acknowledged = $0.acknowledged }
        return acknowledged
    }
}
