internal import NIOCore

/// How long an HTTP/2 client may take nothing of a stream's response, and how slowly it may take the end of it.
///
/// As ``SlowReader``, for a stream: the client's windows hold its body back as well as the network does. A stream is
/// waited for while it takes no more of the body, and from the response's end until all of it has been sent.
struct HTTP2SlowReader {
    private let patience: TimeAmount
    /// Of what is left of a finished response.
    private var rate: LeastRate
    /// When the client must have taken some; far away while it is not waited for.
    private var latest = NIODeadline.distantFuture
    private var excuses = HTTP2Excuses()
    /// Whether the stream takes no more of the body.
    var isBlocked = false
    private var isFinishing = false
    private var isWaiting = false

    enum Change { case begins, ends }

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
    }

    var deadline: NIODeadline { min(latest, rate.deadline) }

    /// The response has ended, and was not sent as a whole.
    mutating func finish() { isFinishing = true }

    /// Looks whether the client is to be waited for.
    ///
    /// - Returns: what that changes.
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

    /// - Returns: whether the client was waited for.
    mutating func stopWaiting() -> Bool {
        defer { isWaiting = false }
        latest = .distantFuture
        rate.end()
        return isWaiting
    }

    /// The client took so many bytes.
    mutating func took(_ count: Int, at now: NIODeadline) {
        guard isWaiting else { return }
        latest = now + patience
        excuses.forget()
        rate.received(count, at: now)
        rate.wait(at: now)
    }

    /// The deadline has passed: whether the client gets more time, since it takes what it can of other streams.
    mutating func isExcused(by downloads: SharedRate, at now: NIODeadline) -> Bool {
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

/// How often a stream on which nothing moves is excused by its connection, which keeps the least rate with others.
///
/// Its turn comes at some time: a stream that stands still for ten times as long as it may by itself is one that its
/// client has forgotten, or keeps on purpose.
struct HTTP2Excuses {
    private var count = 0

    private static let most = 9

    /// Something has moved.
    mutating func forget() { count = 0 }

    /// - Parameter start: since when nothing has moved on the stream.
    mutating func excuse(_ rate: SharedRate, since start: NIODeadline, at now: NIODeadline) -> Bool {
        guard count < Self.most, rate.isMet(since: start, at: now) else { return false }
        count += 1
        return true
    }
}
