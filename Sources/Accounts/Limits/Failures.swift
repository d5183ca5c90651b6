internal import Pipeline

/// The failures in a row of one account, or of one device of its own.
struct Failures: Sendable, Equatable {
    var count: Int64 = 0
    /// Milliseconds since 1970.
    var lastAt: Int64 = 0
    /// Attempts whose outcome is not known yet, each of which may be a failure.
    var pending = 0
    /// The epoch of the store's record in which the failures were counted, as far as is known; see ``FailureRecord``.
    var epoch: Int64 = 0

    /// Milliseconds until one more may try; 0 when it may now.
    ///
    /// Attempts made at the same time count as if they had failed already: else any number of guesses would get in
    /// before the first has failed.
    ///
    /// - Parameter gateways: how many let attempts through at the same time, each its share of those that are left, and
    ///   one at least.
    func wait(_ policy: LockoutPolicy, gateways: Int = 1, at milliseconds: Int64) -> Int64 {
        let lock = policy.lock(afterFailures: count) * 1000
        if lock > 0, lastAt + lock > milliseconds { return min(lastAt + lock - milliseconds, lock) }
        let share = max(1, (Int64(policy.after) - count) / Int64(max(1, gateways)))
        return Int64(pending) >= share ? 1000 : 0
    }
}
