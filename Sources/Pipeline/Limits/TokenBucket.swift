/// A token bucket: each request takes one token, and tokens are added at a constant rate.
///
/// Its state is one number, the time at which it will be full again: the "theoretical arrival time" of the generic cell
/// rate algorithm (ITU-T I.371), which admits exactly the same requests as a bucket.
package struct TokenBucket: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// A token was taken; the bucket will be full at this time.
        case taken(fullAt: UInt64)
        /// There is no token for this many nanoseconds.
        case empty(wait: UInt64)
    }

    /// The nanoseconds in which one token is added.
    private let interval: UInt64
    /// The maximum time until full, in nanoseconds, of a bucket that still has a token.
    private let tolerance: UInt64

    /// - Parameters:
    ///   - rate: the tokens added per time window of at most a day.
    ///   - burst: tokens of a full bucket, 1 to 100 000.
    package init(rate: RateLimit, burst: Int) {
        interval = max(1, UInt64(rate.window) * 1_000_000_000 / UInt64(rate.count))
        tolerance = UInt64(burst - 1) * interval
    }

    /// Takes a token, if there is one.
    ///
    /// - Parameters:
    ///   - fullAt: the time at which the bucket is full again, in nanoseconds of some clock.
    ///   - now: the current time of the same clock.
    package func take(fullAt: UInt64, now: UInt64) -> Outcome {
        let full = max(fullAt, now)
        guard full - now <= tolerance else { return .empty(wait: full - now - tolerance) }
        return .taken(fullAt: full + interval)
    }
}
