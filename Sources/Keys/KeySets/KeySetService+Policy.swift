internal import Pipeline

/// The result of looking for a key that a token names and no set holds.
package enum KeyLookup: Sendable {
    /// The set was fetched just now: decide again with it.
    case refreshed
    /// A set is there, and it was too soon to fetch it again: the key is unknown.
    case unchanged
    /// No set can be had: nothing of this issuer can be verified.
    case unavailable
}

extension KeySetService {
    /// How long a set is used and how often it is asked for.
    package struct Policy: Sendable, Equatable {
        /// Bounds for what the response's `Cache-Control` says, in seconds.
        package var minimumAge: Int64
        package var maximumAge: Int64
        /// The least time between two fetches because of an unknown key.
        package var unknownKeyInterval: Int64
        /// How long the last good set serves after it should have been refreshed.
        package var staleLimit: Int64
        package var timeout: Duration
        /// The largest document taken.
        package var maximumBytes: Int

        package init(
            minimumAge: Int64 = 300, maximumAge: Int64 = 3600, unknownKeyInterval: Int64 = 60,
            staleLimit: Int64 = 86_400, timeout: Duration = .seconds(3), maximumBytes: Int = KeySet.maximumBytes
        ) {
            self.minimumAge = minimumAge
            self.maximumAge = maximumAge
            self.unknownKeyInterval = unknownKeyInterval
            self.staleLimit = staleLimit
            self.timeout = timeout
            self.maximumBytes = maximumBytes
        }
    }

    /// How this issuer's set fares, for metrics and readiness.
    package struct Status: Sendable {
        package var refreshes = 0
        package var failures = 0
        /// Why the last fetch failed, and when the first one since the last good one did, in seconds since 1970; nil
        /// after a good one.
        package var error: String?
        package var failingSince: Int64?
        /// Seconds since 1970 of the last good fetch.
        package var fetchedAt: Int64?
        /// The same moment in seconds of the monotonic clock.
        var fetchedUptime: Int64?
        /// Seconds since 1970 when the set is to be fetched again, and when it is trusted no more; nil without a set
        /// that was fetched.
        package var freshUntil: Int64?
        package var servesUntil: Int64?

        /// Nothing has been fetched, but by a service whose counts go on.
        package init(refreshes: Int = 0, failures: Int = 0) {
            self.refreshes = refreshes
            self.failures = failures
        }
    }
}
