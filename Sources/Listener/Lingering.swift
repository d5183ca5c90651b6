internal import NIOCore

/// How long what a client still sends is read and thrown away behind the last response, before its connection is
/// closed.
///
/// Closing a connection on which bytes arrive resets it, and the reset may take the response from a client that has not
/// read it yet (RFC 9112 §9.6). A phone that is refused at the head of its upload may send on for as long as it likes
/// before it looks. So it has 5 seconds from its last byte, in which a radio that has lost its cell is back, and 30
/// seconds in all, as nginx has for the same (`lingering_timeout`, `lingering_time`). Nobody learns anything from bytes
/// that are thrown away, so that there are 64 MiB of them at most: what 30 seconds bring over 18 Mbit/s.
struct Lingering {
    private static let silence = TimeAmount.seconds(5)
    private static let longest = TimeAmount.seconds(30)
    private static let mostBytes = 64 << 20

    private var end = NIODeadline.distantFuture
    private var bytesLeft = mostBytes
    /// When the connection is to be closed; far away until ``begin(at:)``.
    private(set) var deadline = NIODeadline.distantFuture

    mutating func begin(at now: NIODeadline) {
        end = now + Self.longest
        deadline = now + Self.silence
    }

    /// - Returns: whether more may come.
    mutating func received(_ count: Int, at now: NIODeadline) -> Bool {
        guard deadline != .distantFuture else { return true }
        bytesLeft -= count
        deadline = min(end, now + Self.silence)
        return bytesLeft > 0
    }
}
