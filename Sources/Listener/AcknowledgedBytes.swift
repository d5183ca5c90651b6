internal import Glibc
internal import NIOCore

/// How much of what was written to a connection its client's system has received, by its own word.
///
/// The bytes that leave the channel do not show this. The kernel takes up to megabytes ahead, and takes more only when
/// a third of them has gone; a slow client that reads all the time may need minutes for that.
enum AcknowledgedBytes {
    /// `struct tcp_info` of linux/tcp.h up to `tcpi_bytes_acked`, which is there since Linux 4.1; before, it stays 0.
    private struct TCPInfo: Sendable {
        typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64)

        var stateAndFlags: UInt64
        var numbers: (Words, Words)
        var numbersLeft: (UInt64, UInt64)
        var rates: (UInt64, UInt64)
        var acknowledged: UInt64
    }

    /// In all since the connection was opened; nil for what is no TCP connection.
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
