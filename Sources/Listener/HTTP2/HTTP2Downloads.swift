internal import NIOCore

/// How fast a connection's client takes its responses, of all streams that wait for it together.
struct HTTP2Downloads {
    private(set) var rate: SharedRate
    private var waitingStreams = 0
    /// The bytes that the client had acknowledged at the last look.
    private var acknowledgedBytes: UInt64 = 0

    init(_ rate: SharedRate) {
        self.rate = rate
    }

    /// Whether any stream waits.
    var areAwaited: Bool { waitingStreams > 0 }

    /// A stream begins to wait.
    ///
    /// - Returns: whether no other one does, so that ``count(from:)`` is to follow.
    mutating func beginWaiting(at now: NIODeadline) -> Bool {
        waitingStreams += 1
        rate.join()
        rate.wait(at: now)
        return waitingStreams == 1
    }

    /// Bytes count from those on that the client has acknowledged by now.
    mutating func count(from acknowledged: UInt64) { acknowledgedBytes = acknowledged }

    /// The client has acknowledged so many bytes in all.
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
