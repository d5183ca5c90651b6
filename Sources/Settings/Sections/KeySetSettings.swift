internal import Pipeline
internal import SettingsReader

/// The fetching and caching of issuers' key sets.
package struct KeySetSettings: Sendable {
    /// The minimum time for which a fetched set is used, whatever its `Cache-Control` says.
    package var minimumLifetime: Duration
    /// The maximum time before a set is fetched again, also without `Cache-Control`. Nil: the default of the profile.
    package var maximumLifetime: Duration?
    /// The interval per issuer in which unknown key ids cause at most one fetch.
    package var unknownKeyInterval: Duration
    /// The time for which the last good set is used while fetching fails.
    package var staleLimit: Duration
    /// The time limit of one fetch.
    package var timeout: Duration
    /// The maximum size of the response.
    package var maximumBytes: Int
}

extension KeySetSettings {
    init(reading keys: SettingsMapping) {
        let range = Duration.seconds(1) ... .seconds(30 * 86_400)
        minimumLifetime = keys.value("minimum_lifetime", .duration(range), default: .seconds(300))
        let maximum = keys.optional("maximum_lifetime")
        maximumLifetime = maximum?.read(.duration(range))
        if let maximumLifetime, maximumLifetime < minimumLifetime {
            maximum?.refuse("must not be shorter than minimum_lifetime")
        }
        unknownKeyInterval = keys.value(
            "unknown_key_interval", .duration(.seconds(1) ... .seconds(3600)), default: .seconds(60))
        staleLimit = keys.value("stale_limit", .duration(.zero ... .seconds(30 * 86_400)), default: .seconds(86_400))
        timeout = keys.value("timeout", .duration(.milliseconds(100) ... .seconds(60)), default: .seconds(3))
        maximumBytes = keys.value("maximum_bytes", .size(1024...KeySet.maximumBytes), default: KeySet.maximumBytes)
    }
}

extension KeySetSettings {
    /// The maximum time for which a set of this issuer is used before it is fetched again: an hour by default, a day
    /// for Apple.
    package func maximumLifetime(of issuer: IssuerSettings) -> Duration {
        var usual = Duration.seconds(3600)
        if case .apple = issuer.rules { usual = .seconds(86_400) }
        return maximumLifetime ?? max(usual, minimumLifetime)
    }
}
