internal import Accounts
internal import Clocks
internal import Cryptography
internal import Encoding
internal import Keys
internal import Listener
internal import Locking
internal import Pipeline
internal import Proxy
internal import Settings
internal import Store
package import Telemetry
package import Upstream

/// How the gateway fares as a whole, for readiness and metrics. Readable from anywhere.
package final class GatewayStatus: Sendable {
    private struct State {
        var keyServices: [KeySetService] = []
        var assertionKeys: AssertionKeyService?
        var revocations: RevocationService?
        var store: Store?
        var upstreams: [ServedUpstream] = []
        var checks: [ServerCheck] = []
        var accessLog: AccessLog?
        var directApplications: ApplicationTally?
        var conduct: ConductService?
        var directMode = DirectCognitoMode.block
        var reloads: MetricsReadings.Reloads
        /// By a reload.
        var secretsChangedAt: Int64?
        var isDraining = false
        /// An operator wants load balancers to leave.
        var isSetAside = false
        var settings: GatewaySettings?
        var keptUsers: KeptUsers?
        /// For each listener of the settings.
        var certificates: [[ServedCertificate]] = []
        var issuers: [Issuer] = []
        /// Of the last reading of the settings, where it did not take over.
        var faults: [String] = []
        /// Seconds since 1970 of that reading.
        var failedAt: Int64?
    }

    private let state: Locked<State>

    private let logs: GatewayLogs
    /// Counts of exported and lost spans.
    package let spanTally = SpanTally()

    package let recent = RecentEvents()
    package let drainedServers = DrainedServers()
    private let startedAt: Int64
    private let began = ContinuousClock.now

    /// - Parameter now: seconds since 1970.
    package init(now: Int64, logs: GatewayLogs) {
        startedAt = now
        self.logs = logs
        state = Locked(State(reloads: MetricsReadings.Reloads(lastSuccess: now)))
    }

    /// Tells of `snapshot` from now on.
    package func follow(_ snapshot: ConfigurationSnapshot) {
        state.withLock {
            $0.keyServices = snapshot.plan.keyServices
            $0.assertionKeys = snapshot.plan.assertionKeys
            $0.revocations = snapshot.plan.revocations
            $0.store = snapshot.store
            $0.accessLog = snapshot.accessLog
            $0.directApplications = snapshot.plan.directApplications
            $0.conduct = snapshot.conduct
            $0.directMode = snapshot.settings.directCognito.mode
            $0.upstreams = snapshot.plan.upstreams
            $0.checks = snapshot.checks
            $0.settings = snapshot.settings
            $0.keptUsers = KeptUsers(snapshot)
            $0.certificates = snapshot.listeners.map { $0.tls?.certificates ?? [] }
            $0.issuers = snapshot.plan.gate.verifier.issuers
        }
    }

    /// - Parameter now: seconds since 1970.
    package func reloaded(now: Int64, changesSecrets: Bool) {
        state.withLock {
            if changesSecrets { $0.secretsChangedAt = now }
            $0.reloads.succeeded += 1
            $0.reloads.lastFailed = false
            $0.reloads.lastSuccess = now
            ($0.faults, $0.failedAt) = ([], nil)
        }
    }

    /// - Parameter now: seconds since 1970.
    package func reloadFailed(_ faults: [String], now: Int64) {
        state.withLock {
            $0.reloads.failed += 1
            $0.reloads.lastFailed = true
            ($0.faults, $0.failedAt) = (faults, now)
        }
    }

    /// Whether load balancers are to leave the gateway, which goes on serving.
    func setAside(_ isSetAside: Bool) { state.withLock { $0.isSetAside = isSetAside } }

    /// The admin listener's settings; nil before there are settings.
    var admin: AdminSettings? { state.withLock { $0.settings?.admin } }

    /// The users and sessions that an operator can look at; nil where no tokens are taken.
    var keptUsers: KeptUsers? { state.withLock { $0.keptUsers } }

    var userHashes: UserHashes? { state.withLock { $0.conduct?.hashes } }

    func hasServer(_ server: String, of upstream: String) -> Bool {
        state.withLock { $0.upstreams }.contains { served in
            served.settings.name.hasSameBytes(as: upstream)
                && served.settings.servers.contains { $0.name.hasSameBytes(as: server) }
        }
    }

    var overview: GatewayOverview {
        let state = state.withLock { $0 }
        let upstreams = state.upstreams.map { upstream in
            GatewayOverview.Upstream(
                name: upstream.settings.name,
                servers: upstream.settings.servers.map { server in
                    let check = state.checks.first {
                        $0.upstreamName == upstream.settings.name && $0.serverName == server.name
                    }
                    return GatewayOverview.Server(name: server.name, isHealthy: check?.isHealthy)
                })
        }
        return GatewayOverview(
            startedAt: startedAt, uptime: (ContinuousClock.now - began).components.seconds,
            isDraining: state.isDraining || state.isSetAside,
            digest: state.settings?.digest ?? "", secretsChangedAt: state.secretsChangedAt, faults: state.faults,
            failedAt: state.failedAt,
            listeners: state.settings?.listeners ?? [],
            certificates: state.certificates,
            store: Self.store(state), schemaVersion: state.store?.schemaVersion ?? 0, upstreams: upstreams,
            issuers: state.issuers, limits: state.settings?.limits)
    }

    package func beginDraining() { state.withLock { $0.isDraining = true } }

    var directMode: DirectCognitoMode { state.withLock { $0.directMode } }

    package var readiness: ReadinessReport { Self.readiness(state.withLock { $0 }) }

    /// By name.
    package var issuersWithoutKeys: [String] {
        state.withLock { $0.keyServices }.filter { $0.currentSet == nil }.map(\.issuer.name)
    }

    private static func readiness(_ state: State) -> ReadinessReport {
        let checked = state.upstreams.filter { $0.settings.healthCheck != nil }
        return ReadinessReport(
            isDraining: state.isDraining || state.isSetAside,
            keySetsHeld: state.keyServices.map { $0.currentSet != nil },
            upstreams: checked.map { upstream in
                let checks = state.checks.filter { $0.upstreamName == upstream.settings.name }
                return .init(name: upstream.settings.name, healthy: checks.map(\.isHealthy))
            }, others: checked.count < state.upstreams.count, store: store(state))
    }

    private static func store(_ state: State) -> ReadinessReport.Store? {
        state.store.map { .init(fault: $0.writeFault, isNeeded: state.settings?.needsStore ?? false) }
    }

    /// Since the start, by log.
    package var linesLost: [(log: String, count: Int)] { linesLost(state.withLock { $0 }) }

    private func linesLost(_ state: State) -> [(log: String, count: Int)] {
        [
            ("access", state.accessLog?.lost ?? 0), ("audit", state.conduct?.auditLog.lost ?? 0),
            ("application", logs.lost),
        ]
    }

    var readings: MetricsReadings {
        let state = state.withLock { $0 }
        return MetricsReadings(
            keySets: state.keyServices.map(GatewayMetrics.reading),
            certificates: ShownCertificate.all(state.settings?.listeners ?? [], state.certificates).map {
                .init(listener: $0.listener, name: $0.names.first ?? "", expiresAt: $0.expiresAt)
            },
            revocations: state.revocations.map(\.status).map { status in
                .init(
                    held: status.count, limit: status.limit, failures: status.failures,
                    superseded: status.superseded)
            },
            assertionKeyAge: state.assertionKeys?.signingSince.map { Double(max(0, WallClock.seconds() - $0)) },
            reloads: state.reloads, directApplications: state.directApplications?.snapshot ?? ([], 0),
            directCalls: state.directApplications?.calls ?? [],
            conduct: state.conduct.map(\.readings), linesLost: linesLost(state),
            spans: (exported: spanTally.exported, lost: spanTally.lost), nameLookups: GatewayMetrics.nameLookups,
            process: .now(startedAt: startedAt), version: GatehouseVersion.current,
            storeIsWritable: state.store.map { $0.writeFault == nil }, isReady: Self.readiness(state).isReady)
    }
}
