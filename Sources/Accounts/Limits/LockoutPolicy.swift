/// How long an account is closed to those who have failed to sign in to it.
package struct LockoutPolicy: Sendable, Equatable {
    /// So many failures in a row are free.
    package var after: Int
    /// How long the first lock holds, in seconds; each further failure doubles it.
    package var first: Int64
    /// The longest that a doubled lock gets, in seconds.
    package var longest: Int64
    /// After so many failures in a row the lock holds until they are forgotten (NIST SP 800-63B, 5.2.2: 100).
    package var most: Int
    /// How long after the last failure they are forgotten, in seconds.
    package var forgetAfter: Int64

    package init(after: Int, first: Int64, longest: Int64, most: Int, forgetAfter: Int64) {
        self.after = after
        self.first = first
        self.longest = longest
        self.most = most
        self.forgetAfter = forgetAfter
    }

    /// Seconds for which nobody may try after so many failures in a row.
    func lock(afterFailures failures: Int64) -> Int64 {
        guard failures >= Int64(after) else { return 0 }
        guard failures < Int64(most) else { return forgetAfter }
        // Beyond thirty doublings every lock is longer than the longest.
        let doublings = min(failures - Int64(after), 30)
        return min(first << doublings, longest)
    }
}

/// The failures in a row of one account, or of one device of its own.
struct Failures: Sendable, Equatable {
    var count: Int64 = 0
    /// Milliseconds since 1970.
    var lastAt: Int64 = 0
    /// Attempts whose outcome is not known yet, each of which may be a failure.
    var pending = 0

    /// Milliseconds until one more may try; 0 when it may now.
    ///
    /// Attempts made at the same time count as if they had failed already: else any number of guesses would get in
    /// before the first has failed.
    func wait(_ policy: LockoutPolicy, at milliseconds: Int64) -> Int64 {
        let lock = policy.lock(afterFailures: count) * 1000
        if lock > 0, lastAt + lock > milliseconds { return min(lastAt + lock - milliseconds, lock) }
        guard pending > 0, count + Int64(pending) >= Int64(policy.after) else { return 0 }
        return 1000
    }
}
