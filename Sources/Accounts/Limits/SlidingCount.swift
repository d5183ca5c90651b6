internal import Pipeline

/// The calls counted against a ``RateLimit`` in the current window and in the previous one.
///
/// Windows begin at multiples of their length. The weight of the previous window decreases during the current one, so
/// that no two bursts fit around a window's end.
struct SlidingCount: Sendable, Equatable {
    /// The number of the window whose calls ``current`` counts.
    private(set) var window: Int64
    private(set) var current: Int64
    private(set) var previous: Int64

    init(window: Int64, current: Int64 = 0, previous: Int64 = 0) {
        self.window = window
        self.current = current
        self.previous = previous
    }

    /// - Parameter milliseconds: since 1970.
    init(_ limit: RateLimit, at milliseconds: Int64) {
        self.init(window: Self.window(limit, at: milliseconds))
    }

    static func window(_ limit: RateLimit, at milliseconds: Int64) -> Int64 { milliseconds / (limit.window * 1000) }

    /// Advances to the clock's window. A clock that was set back begins another window with the last count: calls
    /// neither wait until the clock has caught up, nor are more of them admitted.
    mutating func advance(_ limit: RateLimit, to milliseconds: Int64) {
        let now = Self.window(limit, at: milliseconds)
        guard now != window else { return }
        previous = now == window + 1 ? current : 0
        if now > window { current = 0 }
        window = now
    }

    /// Returns the milliseconds until another call is within the limit; 0 if it is now.
    ///
    /// - Precondition: advanced to `milliseconds`.
    func wait(_ limit: RateLimit, at milliseconds: Int64) -> Int64 {
        let length = limit.window * 1000
        let elapsed = min(max(0, milliseconds - window * length), length)
        let allowed = Int64(limit.count) - 1
        guard allowed >= 0 else { return length }
        // previous × (length − elapsed) / length + current ≤ allowed
        let room = allowed - current
        if room >= 0 {
            guard previous > 0 else { return 0 }
            let needed = length - room * length / previous
            return max(0, needed - elapsed)
        }
        // No call fits into this window. In the next one, the weight of the current count decreases.
        let next = length - elapsed
        guard current > allowed, current > 0 else { return next }
        return next + max(0, length - allowed * length / current)
    }

    mutating func count() { current += 1 }

    /// Takes over a count to which other gateways may have added.
    mutating func adopt(total: Int64, ofWindow number: Int64) {
        if number == window { current = max(current, total) }
        if number == window - 1 { previous = max(previous, total) }
        if number > window {
            previous = number == window + 1 ? current : 0
            (window, current) = (number, total)
        }
    }

    /// Returns the time from which the count has no effect, in seconds since 1970.
    func endsAt(_ limit: RateLimit) -> Int64 { (window + 2) * limit.window }
}
