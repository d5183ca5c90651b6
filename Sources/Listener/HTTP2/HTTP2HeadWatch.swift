internal import NIOCore

/// Sees to it that an HTTP/2 client ends the heads that it begins, and in time: the session keeps the beginning of a
/// frame, or of a header block, for as long as the rest takes.
struct HTTP2HeadWatch {
    private let timeout: TimeAmount
    private var rate: LeastRate
    private var latest = NIODeadline.distantFuture

    /// When what has begun must have come, at the rate that it comes.
    var deadline: NIODeadline { min(latest, rate.deadline) }

    /// Whether the rate is too low, and not the whole time over.
    var isTooSlow: Bool { rate.deadline < latest }

    init(_ settings: ListenerSettings) {
        timeout = settings.headTimeout
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
    }

    /// Bytes have come.
    ///
    /// - Parameters:
    ///   - isIncomplete: whether something is owed behind them.
    ///   - hasEnded: whether nothing was, somewhere among them.
    mutating func received(_ count: Int, isIncomplete: Bool, hasEnded: Bool, at now: NIODeadline) {
        if !isIncomplete {
            stop()
        } else if latest == .distantFuture || hasEnded {
            // A client that ends one and begins the next in the same bytes has the whole time for that.
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
