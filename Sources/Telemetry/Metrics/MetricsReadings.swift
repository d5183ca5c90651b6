/// Numbers that are kept elsewhere and read when metrics are asked for.
package struct MetricsReadings: Sendable {
    /// The state of an issuer's key set.
    package struct KeySet: Sendable {
        /// The issuer's name in the settings.
        package var issuer: String
        package var refreshes: Int
        package var failures: Int
        /// Seconds since the set in use was fetched; nil while there is none.
        package var ageSeconds: Double?

        package init(issuer: String, refreshes: Int, failures: Int, ageSeconds: Double?) {
            self.issuer = issuer
            self.refreshes = refreshes
            self.failures = failures
            self.ageSeconds = ageSeconds
        }
    }

    /// How the settings were read again.
    package struct Reloads: Sendable {
        package var succeeded = 0
        package var failed = 0
        /// Seconds since 1970 when the settings in use took over.
        package var lastSuccess: Int64

        package init(lastSuccess: Int64) { self.lastSuccess = lastSuccess }
    }

    package var keySets: [KeySet]
    package var reloads: Reloads?
    package var accessLogDropped: Int
    /// Whether `/readyz` says yes.
    package var isReady: Bool

    package init(
        keySets: [KeySet] = [], reloads: Reloads? = nil, accessLogDropped: Int = 0, isReady: Bool = true
    ) {
        self.keySets = keySets
        self.reloads = reloads
        self.accessLogDropped = accessLogDropped
        self.isReady = isReady
    }
}
