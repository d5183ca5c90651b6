internal import Pipeline
internal import SettingsReader

/// How issuers' key sets are fetched and for how long they serve.
package struct KeySetSettings: Sendable {
    /// A fetched set is used at least this long, whatever its `Cache-Control` says.
    package var minimumLifetime: Duration
    /// And at most this long before it is fetched again; also when it says nothing. Nil: as is usual for the profile.
    package var maximumLifetime: Duration?
    /// An unknown key id leads to at most one fetch per issuer in this time.
    package var unknownKeyInterval: Duration
    /// How long the last good set serves while none can be fetched.
    package var staleLimit: Duration
    /// For one fetch as a whole.
    package var timeout: Duration
    /// The largest answer that is read.
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
    /// The longest that a set of this issuer is used before it is fetched again: an hour, Apple's a day.
    package func maximumLifetime(of issuer: IssuerSettings) -> Duration {
        var usual = Duration.seconds(3600)
        if case .apple = issuer.rules { usual = .seconds(86_400) }
        return maximumLifetime ?? max(usual, minimumLifetime)
    }
}
