internal import NIOCore

/// The time for which a client's input is read and discarded after the last response, before the connection is closed.
///
/// Closing a connection while bytes arrive resets it, and the reset may discard the response before the client has read
/// it (RFC 9112 §9.6). A phone that is refused at the head of its upload may continue to send for any time before it
/// reads. It therefore has 5 seconds after its last byte, enough for a radio to find a new cell, and 30 seconds in
/// total, as in nginx (`lingering_timeout`, `lingering_time`). Discarded bytes are limited to 64 MiB: 30 seconds at 18
/// Mbit/s.
struct Lingering {
    private static let silence = TimeAmount.seconds(5)
    private static let longest = TimeAmount.seconds(30)
    private static let mostBytes = 64 << 20

    private var end = NIODeadline.distantFuture
    private var bytesLeft = mostBytes
    /// The time at which the connection is closed; distant future until ``begin(at:)``.
    private(set) var deadline = NIODeadline.distantFuture

    mutating func begin(at now: NIODeadline) {
        end = now + Self.longest
        deadline = now + Self.silence
    }

    /// - Returns: false if the limit of discarded bytes is reached.
    mutating func received(_ count: Int, at now: NIODeadline) -> Bool {
        guard deadline != .distantFuture else { return true }
        bytesLeft -= count
        deadline = min(end, now + Self.silence)
        return bytesLeft > 0
    }
}
