internal import ACME
internal import Accounts
internal import Listener
internal import Pipeline
internal import Settings
internal import Store

/// The contents of `/status` besides counters.
struct GatewayOverview: Sendable {
    struct Server: Sendable {
        var name: String
        /// Nil where it is not checked.
        var isHealthy: Bool?
        /// Why the last check failed; nil where it did not.
        var checkError: String?
    }

    package struct Upstream: Sendable {
        var name: String
        var servers: [Server]
    }

    /// Seconds since 1970.
    var startedAt: Int64
    /// Seconds since then, by a clock that nobody sets.
    var uptime: Int64
    /// Since when it drains, in seconds since 1970; nil while it does not.
    var drainingSince: Int64?
    var digest: String
    /// Seconds since 1970 of the last reload with another secret; nil where there was none.
    var secretsChangedAt: Int64?
    /// Why the last reading of the settings did not take over, and when that was, in seconds since 1970.
    var errors: [String]
    var failedAt: Int64?
    var listeners: [ListenSettings]
    /// For each listener what it shows.
    var certificates: [[ServedCertificate]]
    /// The certificates that the admin listener shows.
    var adminCertificates: [ServedCertificate]
    /// Nil where there is none.
    var store: ReadinessReport.Store?
    /// Since when it cannot be written, in seconds since 1970; nil while it can.
    var storeFailingSince: Int64?
    var schemaVersion: Int
    var upstreams: [Upstream]
    var issuers: [Issuer]
    var limits: LimitSettings?
    /// One for each pool that users sign in at.
    var tokenChecks: [SignInTokenCheck]
    /// The certificates that are obtained from a directory; nil where none are.
    var obtained: [CertificateStanding]?
    /// The gateways that share the database, and the id of this one; nil where there is one process.
    var replicas: (known: [Replica], own: String)?
}
