/// The lockout of an account after failed sign-ins.
package struct LockoutPolicy: Sendable, Equatable {
    /// The number of consecutive failures that causes the first lock.
    package var after: Int
    /// The duration of the first lock, in seconds. Each further failure doubles it.
    package var first: Int64
    /// The maximum duration of a doubled lock, in seconds.
    package var longest: Int64
    /// The number of consecutive failures from which a lock lasts until they are forgotten (NIST SP 800-63B, 5.2.2:
    /// 100).
    package var most: Int
    /// The time from the last failure until all are forgotten, in seconds.
    package var forgetAfter: Int64

    package init(after: Int, first: Int64, longest: Int64, most: Int, forgetAfter: Int64) {
        self.after = after
        self.first = first
        self.longest = longest
        self.most = most
        self.forgetAfter = forgetAfter
    }

    /// The duration of the lock after a number of consecutive failures, in seconds; 0 for no lock.
    package func lock(afterFailures failures: Int64) -> Int64 {
        guard failures >= Int64(after) else { return 0 }
        guard failures < Int64(most) else { return forgetAfter }
        // After 30 doublings, every lock exceeds the longest.
        let doublings = min(failures - Int64(after), 30)
        return min(first << doublings, longest)
    }
}
