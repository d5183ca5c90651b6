internal import NIOCore

/// The time limit for the heads and frames that an HTTP/2 client begins: the session stores the beginning of a frame or
/// header block until the rest arrives.
struct HTTP2HeadWatch {
    private let timeout: TimeAmount
    private var rate: MinimumRate
    private var latest = NIODeadline.distantFuture

    /// The time at which the begun frame or head must be complete, considering its rate.
    var deadline: NIODeadline { min(latest, rate.deadline) }

    /// Whether the minimum rate is violated first, and not the timeout.
    var isTooSlow: Bool { rate.deadline < latest }

    init(_ settings: ListenerSettings) {
        timeout = settings.headTimeout
        rate = MinimumRate(settings.minimumRate, grace: settings.minimumRateGrace)
    }

    /// Records received bytes.
    ///
    /// - Parameters:
    ///   - isIncomplete: whether a frame or head is incomplete after them.
    ///   - hasEnded: whether the input was complete at some point among them.
    mutating func received(_ count: Int, isIncomplete: Bool, hasEnded: Bool, at now: NIODeadline) {
        if !isIncomplete {
            stop()
        } else if latest == .distantFuture || hasEnded {
            // A client that completes one head and begins the next in the same bytes has the full time for the new one.
            latest = now + timeout
            rate.begin()
            rate.wait(at: now)
        } else {
            rate.received(count, at: now)
            rate.wait(at: now)
        }
    }

    mutating func stop() {
        guard latest != .distantFuture else { return }
        latest = .distantFuture
        rate.end()
    }
}
