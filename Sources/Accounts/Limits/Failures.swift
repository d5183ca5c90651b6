internal import Pipeline

/// The consecutive failures of one account, or of one of its known devices.
struct Failures: Sendable, Equatable {
    var count: Int64 = 0
    /// Milliseconds since 1970.
    var lastAt: Int64 = 0
    /// Attempts in progress, each of which may fail.
    var pending = 0
    /// The latest known epoch of the store's record in which the failures were counted; see ``FailureRecord``.
    var epoch: Int64 = 0

    /// Returns the milliseconds until another attempt is allowed; 0 if it is allowed now.
    ///
    /// Concurrent attempts count as failures: otherwise any number of guesses would be admitted before the first has
    /// failed.
    ///
    /// - Parameter gateways: the number of gateways that admit attempts at the same time. Each has its share of the
    ///   remaining ones, and at least one.
    func wait(_ policy: LockoutPolicy, gateways: Int = 1, at milliseconds: Int64) -> Int64 {
        let lock = policy.lock(afterFailures: count) * 1000
        if lock > 0, lastAt + lock > milliseconds { return min(lastAt + lock - milliseconds, lock) }
        let share = max(1, (Int64(policy.after) - count) / Int64(max(1, gateways)))
        return Int64(pending) >= share ? 1000 : 0
    }
}
