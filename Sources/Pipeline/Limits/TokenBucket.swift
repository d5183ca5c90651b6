/// A bucket of tokens, one of which each request takes, and which is filled again evenly.
///
/// Its state is one number, the time at which it will be full again: the "theoretical arrival time" of the generic cell
/// rate algorithm (ITU-T I.371), which lets through exactly what a bucket does.
package struct TokenBucket: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// There was one; the time of the full bucket is now this.
        case taken(fullAt: UInt64)
        /// There is none for so many nanoseconds.
        case empty(wait: UInt64)
    }

    /// Nanoseconds in which one token is added.
    private let interval: UInt64
    /// How far from full a bucket may be that still has a token.
    private let tolerance: UInt64

    /// - Parameters:
    ///   - rate: tokens that are added within a time of at most a day.
    ///   - burst: tokens of a full bucket, 1 to 100 000.
    package init(rate: RateLimit, burst: Int) {
        interval = max(1, UInt64(rate.window) * 1_000_000_000 / UInt64(rate.count))
        tolerance = UInt64(burst - 1) * interval
    }

    /// Takes a token, if there is one.
    ///
    /// - Parameters:
    ///   - fullAt: the time at which the bucket is full again, in nanoseconds of some clock.
    ///   - now: the same clock's time.
    package func take(fullAt: UInt64, now: UInt64) -> Outcome {
        let full = max(fullAt, now)
        guard full - now <= tolerance else { return .empty(wait: full - now - tolerance) }
        return .taken(fullAt: full + interval)
    }
}
