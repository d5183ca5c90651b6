internal import NIOCore

/// The rate at which a connection's client takes its responses, over all streams that wait for it.
struct HTTP2Downloads {
    private(set) var rate: ConnectionMinimumRate
    private var waitingStreams = 0
    /// The bytes that the client had acknowledged at the last measurement.
    private var acknowledgedBytes: UInt64 = 0

    init(_ rate: ConnectionMinimumRate) {
        self.rate = rate
    }

    /// Whether any stream waits.
    var areAwaited: Bool { waitingStreams > 0 }

    /// Adds a waiting stream.
    ///
    /// - Returns: whether it is the only one, so that ``count(from:)`` must follow.
    mutating func beginWaiting(at now: NIODeadline) -> Bool {
        waitingStreams += 1
        rate.join()
        rate.wait(at: now)
        return waitingStreams == 1
    }

    /// Sets the acknowledged bytes from which the measurement begins.
    mutating func count(from acknowledged: UInt64) { acknowledgedBytes = acknowledged }

    /// Records the total of acknowledged bytes.
    mutating func measure(_ acknowledged: UInt64, at now: NIODeadline) {
        guard acknowledged > acknowledgedBytes else { return }
        rate.moved(Int(clamping: acknowledged - acknowledgedBytes), at: now)
        acknowledgedBytes = acknowledged
    }

    mutating func endWaiting(at now: NIODeadline) {
        waitingStreams -= 1
        rate.stopWaiting(at: now)
        rate.leave()
    }
}
