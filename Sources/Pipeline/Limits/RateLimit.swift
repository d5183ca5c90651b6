/// A rate limit: a number of events per time window.
package struct RateLimit: Sendable, Equatable, CustomStringConvertible {
    package var count: Int
    /// In seconds.
    package var window: Int64

    package init(_ count: Int, per window: Int64) {
        self.count = count
        self.window = window
    }

    package var description: String { "\(count)/\(window)s" }
}
