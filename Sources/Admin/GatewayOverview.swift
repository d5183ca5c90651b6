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
        /// Nil if the server is not checked.
        var isHealthy: Bool?
        /// The error of the last check; nil if it succeeded.
        var checkError: String?
    }

    package struct Upstream: Sendable {
        var name: String
        var servers: [Server]
    }

    /// Seconds since 1970.
    var startedAt: Int64
    /// The time since the start in seconds, by a monotonic clock.
    var uptime: Int64
    /// The start of draining, in seconds since 1970; nil if the gateway does not drain.
    var drainingSince: Int64?
    var digest: String
    /// The time of the last reload with a changed secret, in seconds since 1970; nil if there was none.
    var secretsChangedAt: Int64?
    /// The errors and the time of the last reload if it failed, in seconds since 1970.
    var errors: [String]
    var failedAt: Int64?
    var listeners: [ListenSettings]
    /// The certificates that each listener presents.
    var certificates: [[ServedCertificate]]
    /// The certificates that the admin listener presents.
    var adminCertificates: [ServedCertificate]
    /// Nil if there is no store.
    var store: ReadinessReport.Store?
    /// The time since which the store cannot be written, in seconds since 1970; nil if it can be written.
    var storeFailingSince: Int64?
    var schemaVersion: Int
    var upstreams: [Upstream]
    var issuers: [Issuer]
    var limits: LimitSettings?
    /// One element for each pool whose tokens are checked.
    var tokenChecks: [SignInTokenCheck]
    /// The certificates that are obtained by ACME; nil if ACME is not configured.
    var obtained: [CertificateStatus]?
    /// The gateways that share the database, and the id of this one; nil if the state is not shared.
    var replicas: (known: [Replica], own: String)?
}
