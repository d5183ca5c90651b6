internal import NIOCore

/// The time limits for a client that takes a stream's response: how long it may take nothing, and how slowly it may
/// take the end.
///
/// The counterpart of ``SlowReader`` for a stream, whose body is held back by the client's windows as well as by the
/// network. The gateway waits for the client while the stream accepts no more of the body, and from the response's end
/// until all of it has been sent.
struct HTTP2SlowReader {
    private let patience: TimeAmount
    /// The minimum rate for the rest of a finished response.
    private var rate: MinimumRate
    /// The time at which the client must have taken some bytes; distant future while the gateway does not wait.
    private var latest = NIODeadline.distantFuture
    private var excuses = HTTP2Excuses()
    /// Whether the stream accepts no more of the body.
    var isBlocked = false
    private var isFinishing = false
    private var isWaiting = false

    enum Change { case begins, ends }

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        rate = MinimumRate(settings.minimumRate, grace: settings.minimumRateGrace)
    }

    var deadline: NIODeadline { min(latest, rate.deadline) }

    /// Called when the response has ended but has not been sent completely.
    mutating func finish() { isFinishing = true }

    /// Begins or ends waiting for the client, as needed.
    ///
    /// - Returns: the change; nil if there is none.
    mutating func update(at now: NIODeadline) -> Change? {
        guard isBlocked || isFinishing else { return stopWaiting() ? .ends : nil }
        if isFinishing, !rate.isMeasuring {
            rate.begin()
            rate.wait(at: now)
        }
        guard !isWaiting else { return nil }
        isWaiting = true
        latest = now + patience
        return .begins
    }

    /// - Returns: whether the gateway was waiting for the client.
    mutating func stopWaiting() -> Bool {
        defer { isWaiting = false }
        latest = .distantFuture
        rate.end()
        return isWaiting
    }

    /// Records bytes that the client has taken.
    mutating func took(_ count: Int, at now: NIODeadline) {
        guard isWaiting else { return }
        latest = now + patience
        excuses.forget()
        rate.received(count, at: now)
        rate.wait(at: now)
    }

    /// Returns whether the client gets more time after its deadline, because it takes other streams fast enough.
    mutating func isExcused(by downloads: ConnectionMinimumRate, at now: NIODeadline) -> Bool {
        if rate.deadline <= now {
            guard downloads.isMet(at: now) else { return false }
            rate.wait(until: downloads.deadline)
        }
        if latest <= now {
            guard excuses.excuse(downloads, since: now - patience, at: now) else { return false }
            latest = now + patience
        }
        return true
    }
}

/// The number of times that a stalled stream has been excused because its connection keeps the minimum rate with other
/// streams.
///
/// The limit is ten times the ordinary patience: a stream that is stalled for longer has been forgotten by its client,
/// or is held open on purpose.
struct HTTP2Excuses {
    private var count = 0

    private static let most = 9

    /// Resets the count, when bytes have moved.
    mutating func forget() { count = 0 }

    /// - Parameter start: the time since which no bytes have moved on the stream.
    mutating func excuse(_ rate: ConnectionMinimumRate, since start: NIODeadline, at now: NIODeadline) -> Bool {
        guard count < Self.most, rate.isMet(since: start, at: now) else { return false }
        count += 1
        return true
    }
}
