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
    package func lock(afterFailures failures: Int64) -> Int64 {
        guard failures >= Int64(after) else { return 0 }
        guard failures < Int64(most) else { return forgetAfter }
        // Beyond thirty doublings every lock is longer than the longest.
        let doublings = min(failures - Int64(after), 30)
        return min(first << doublings, longest)
    }
}
