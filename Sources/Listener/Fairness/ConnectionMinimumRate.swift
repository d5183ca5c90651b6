internal import NIOCore

/// The minimum rate of all streams of an HTTP/2 connection together, in one direction.
///
/// The streams of a slow phone share its bandwidth, in shares that the client or the event loop chooses: of six
/// concurrent uploads, each may be slower than the minimum rate, or one of them silent, although the phone sends as
/// fast as it can. A slow stream is therefore excused while the connection as a whole keeps the rate.
///
/// Up to eight streams together need the rate once: apps and browsers open six connections to a server over HTTP/1.1.
/// Each further eight streams require it once again. Otherwise one connection could hold a hundred requests at the
/// price of one.
struct ConnectionMinimumRate {
    private var rate: MinimumRate
    private var members = 0
    private var awaited = 0
    private var lastBytes = NIODeadline.uptimeNanoseconds(0)

    private static let streamsForOneRate = 8

    init(_ rate: Int, grace: TimeAmount) {
        self.rate = MinimumRate(rate, grace: grace)
    }

    /// The time until which the rate is met if no more bytes move.
    var deadline: NIODeadline { rate.deadline }

    /// Adds a stream.
    mutating func join() {
        members += 1
        if members == 1 { rate.begin() }
    }

    /// Removes a stream that is not awaited.
    mutating func leave() {
        members -= 1
        if members == 0 { rate.end() }
    }

    /// Begins to wait for a stream.
    mutating func wait(at now: NIODeadline) {
        awaited += 1
        rate.wait(at: now)
    }

    /// Stops waiting for a stream.
    mutating func stopWaiting(at now: NIODeadline) {
        awaited -= 1
        if awaited == 0 { rate.received(0, at: now) }
    }

    /// Records bytes that any of the streams has moved.
    mutating func moved(_ count: Int, at now: NIODeadline) {
        guard rate.isMeasuring else { return }
        lastBytes = now
        rate.received(count, at: now, shares: max(1, (awaited + Self.streamsForOneRate - 1) / Self.streamsForOneRate))
        if awaited > 0 { rate.wait(at: now) }
    }

    func isMet(at now: NIODeadline) -> Bool { rate.isMeasuring && now < rate.deadline }

    /// Returns whether the rate is met and bytes have moved after `start`.
    func isMet(since start: NIODeadline, at now: NIODeadline) -> Bool { isMet(at: now) && lastBytes > start }
}
