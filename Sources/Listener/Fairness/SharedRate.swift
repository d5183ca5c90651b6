internal import NIOCore

/// Whether the streams of an HTTP/2 connection, all together, move their bytes in one direction as fast as one must.
///
/// The streams of a slow phone share its line, in parts that the client or the loop chooses: six uploads at once may
/// each be slower than the least rate, or one of them silent, while the phone does all it can. So a stream that is too
/// slow by itself is excused while the connection keeps the rate.
///
/// As many streams as apps and browsers have connections to a server over HTTP/1.1 (six, with some room) need the rate
/// once; of each further such number once more is asked for. Without that, one connection could hold a hundred requests
/// at the price of one.
struct SharedRate {
    private var rate: LeastRate
    private var members = 0
    private var awaited = 0
    private var lastBytes = NIODeadline.uptimeNanoseconds(0)

    private static let streamsForOneRate = 8

    init(_ rate: Int, grace: TimeAmount) {
        self.rate = LeastRate(rate, grace: grace)
    }

    /// Until when it is kept if nothing more moves.
    var deadline: NIODeadline { rate.deadline }

    /// A stream takes part.
    mutating func join() {
        members += 1
        if members == 1 { rate.begin() }
    }

    /// A stream, which is not awaited, takes part no longer.
    mutating func leave() {
        members -= 1
        if members == 0 { rate.end() }
    }

    /// One more stream is waited for.
    mutating func wait(at now: NIODeadline) {
        awaited += 1
        rate.wait(at: now)
    }

    /// One stream fewer is waited for.
    mutating func stopWaiting(at now: NIODeadline) {
        awaited -= 1
        if awaited == 0 { rate.received(0, at: now) }
    }

    /// So many bytes of some stream have moved.
    mutating func moved(_ count: Int, at now: NIODeadline) {
        guard rate.isMeasuring else { return }
        lastBytes = now
        rate.received(count, at: now, shares: max(1, (awaited + Self.streamsForOneRate - 1) / Self.streamsForOneRate))
        if awaited > 0 { rate.wait(at: now) }
    }

    func isMet(at now: NIODeadline) -> Bool { rate.isMeasuring && now < rate.deadline }

    /// Whether it is kept, by bytes of which some are newer than `start`.
    func isMet(since start: NIODeadline, at now: NIODeadline) -> Bool { isMet(at: now) && lastBytes > start }
}
