internal import Pipeline

/// The result of looking up a key that a token names and the set lacks.
package enum KeyLookup: Sendable {
    /// The set has the key now, or was just fetched: decide again with it.
    case refreshed
    /// There is a set, but it was too soon to fetch it again or the fetch failed: the key is unknown.
    case unchanged
    /// There is no set: no token of this issuer can be verified.
    case unavailable
}

extension KeySetService {
    /// The limits on the use of a set and on its fetches.
    package struct Policy: Sendable, Equatable {
        /// The bounds for the lifetime that the response's `Cache-Control` states, in seconds.
        package var minimumAge: Int64
        package var maximumAge: Int64
        /// The minimum time between two fetches because of an unknown key, in seconds.
        package var unknownKeyInterval: Int64
        /// The time for which the last good set is used after it should have been refreshed, in seconds.
        package var staleLimit: Int64
        package var timeout: Duration
        /// The maximum length of a document.
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

    /// The status of this issuer's set, for metrics and readiness.
    package struct Status: Sendable {
        package var refreshes = 0
        package var failures = 0
        /// The error of the last fetch, and the time of the first failure since the last success, in seconds since
        /// 1970; nil after a success.
        package var error: String?
        package var failingSince: Int64?
        /// The time of the last successful fetch, in seconds since 1970.
        package var fetchedAt: Int64?
        /// The same time in seconds of the monotonic clock.
        var fetchedUptime: Int64?
        /// The time of the next fetch, and the time from which the set is no longer trusted, in seconds since 1970; nil
        /// without a fetched set.
        package var freshUntil: Int64?
        package var servesUntil: Int64?

        /// A status without a fetch, which continues the counts of a previous service.
        package init(refreshes: Int = 0, failures: Int = 0) {
            self.refreshes = refreshes
            self.failures = failures
        }
    }
}
