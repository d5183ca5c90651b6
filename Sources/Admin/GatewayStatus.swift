internal import ACME
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

/// The state of the whole gateway for readiness, status and metrics. It can be read on any thread.
package final class GatewayStatus: Sendable {
    private struct State {
        /// The active configuration; nil before the first one.
        var snapshot: ConfigurationSnapshot?
        var reloads: MetricsReadings.Reloads
        /// The time of the last change of a secret, in seconds since 1970; nil if there was none.
        var secretsChangedAt: Int64?
        /// The time at which the process was told to stop, in seconds since 1970.
        var endingSince: Int64?
        /// The time since which an operator drains the gateway, in seconds since 1970.
        var setAsideSince: Int64?
        /// The errors of the last reload; empty if it succeeded.
        var errors: [String] = []
        /// The time of the last reload if it failed, in seconds since 1970.
        var failedAt: Int64?

        var drainingSince: Int64? { [setAsideSince, endingSince].compactMap { $0 }.min() }
    }

    private let state: Locked<State>

    private let logs: GatewayLogs
    /// The counts of deliveries to a collector.
    package let exports = ExportTallies()

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

    private var snapshot: ConfigurationSnapshot? { state.withLock { $0.snapshot } }

    /// Reports the state of `snapshot` from now on.
    package func follow(_ snapshot: ConfigurationSnapshot) { state.withLock { $0.snapshot = snapshot } }

    /// - Parameter now: seconds since 1970.
    package func reloaded(now: Int64, changesSecrets: Bool) {
        state.withLock {
            if changesSecrets { $0.secretsChangedAt = now }
            $0.reloads.succeeded += 1
            $0.reloads.lastFailed = false
            $0.reloads.lastSuccess = now
            ($0.errors, $0.failedAt) = ([], nil)
        }
    }

    /// - Parameter now: seconds since 1970.
    package func reloadFailed(_ errors: [String], now: Int64) {
        state.withLock {
            $0.reloads.failed += 1
            $0.reloads.lastFailed = true
            ($0.errors, $0.failedAt) = (errors, now)
        }
    }

    /// Counts changed files of the settings that are now in use.
    ///
    /// - Parameter now: seconds since 1970.
    package func filesFollowed(_ count: Int, now: Int64, changesSecrets: Bool) {
        state.withLock {
            if changesSecrets { $0.secretsChangedAt = now }
            $0.reloads.files.used += count
        }
    }

    /// - Parameters:
    ///   - count: the number of groups of changed files that are rejected now.
    ///   - refused: the number of newly rejected groups.
    package func filesKeptOut(_ count: Int, refused: Int) {
        state.withLock {
            $0.reloads.files.keptOut = count
            $0.reloads.files.refused += refused
        }
    }

    /// Sets whether load balancers must send no traffic to the gateway, which continues to serve.
    func setAside(_ isSetAside: Bool) {
        let now = WallClock.seconds()
        state.withLock { $0.setAsideSince = isSetAside ? $0.setAsideSince ?? now : nil }
    }

    /// The admin listener's settings; nil before there are settings.
    var admin: AdminSettings? { state.withLock { $0.snapshot?.settings.admin } }

    /// The users and sessions for operators; nil if no tokens are accepted.
    var userDirectory: UserDirectory? { snapshot.flatMap(UserDirectory.init) }

    /// Nil if no tokens are accepted.
    var audit: AuditTrail? { snapshot?.plan.audit }

    var userHashes: UserHashes? { state.withLock { $0.snapshot?.accountServices?.hashes } }

    func hasServer(_ server: String, of upstream: String) -> Bool {
        snapshot?.plan.upstreams.contains { served in
            served.settings.name.hasSameBytes(as: upstream)
                && served.settings.servers.contains { $0.name.hasSameBytes(as: server) }
        } ?? false
    }

    var overview: GatewayOverview {
        let state = state.withLock { $0 }
        let snapshot = state.snapshot
        return GatewayOverview(
            startedAt: startedAt, uptime: (ContinuousClock.now - began).components.seconds,
            drainingSince: state.drainingSince,
            digest: snapshot?.settings.digest ?? "", secretsChangedAt: state.secretsChangedAt, errors: state.errors,
            failedAt: state.failedAt,
            listeners: snapshot?.settings.listeners ?? [],
            certificates: snapshot?.listeners.clients.certificates ?? [],
            adminCertificates: snapshot?.listeners.admin.certificates ?? [],
            store: Self.store(snapshot), storeFailingSince: snapshot?.storeWatch?.failingSince,
            schemaVersion: snapshot?.store?.schemaVersion ?? 0,
            upstreams: snapshot.map(Self.upstreams) ?? [], issuers: snapshot?.plan.gate.verifier.issuers ?? [],
            limits: snapshot?.settings.limits, tokenChecks: Self.tokenChecks(snapshot),
            obtained: snapshot?.certificateService?.statuses,
            replicas: snapshot?.replicas.map { ($0.known, $0.id) })
    }

    private static func upstreams(_ snapshot: ConfigurationSnapshot) -> [GatewayOverview.Upstream] {
        snapshot.plan.upstreams.map(\.settings).map { upstream in
            GatewayOverview.Upstream(
                name: upstream.name,
                servers: upstream.servers.map { server in
                    let check = snapshot.check(of: server.name, of: upstream.name)
                    return GatewayOverview.Server(
                        name: server.name, isHealthy: check?.isHealthy, checkError: check?.error)
                })
        }
    }

    package func beginDraining() {
        let now = WallClock.seconds()
        state.withLock { $0.endingSince = $0.endingSince ?? now }
    }

    var directMode: DirectCognitoMode { state.withLock { $0.snapshot?.settings.directCognito.mode ?? .block } }

    package var readiness: ReadinessReport { Self.readiness(state.withLock { $0 }) }

    /// The names of the issuers that have no key set.
    package var issuersWithoutKeys: [String] {
        Self.keyServices(snapshot).filter { $0.currentSet == nil }.map(\.issuer.name)
    }

    private static func keyServices(_ snapshot: ConfigurationSnapshot?) -> [KeySetService] {
        snapshot?.plan.keyServices ?? []
    }

    private static func readiness(_ state: State) -> ReadinessReport {
        let (upstreams, checks) = (state.snapshot?.plan.upstreams ?? [], state.snapshot?.checks ?? [])
        let checked = upstreams.map(\.settings).filter { $0.healthCheck != nil }
        return ReadinessReport(
            isDraining: state.drainingSince != nil,
            keySetsHeld: keyServices(state.snapshot).map { $0.currentSet != nil },
            upstreams: checked.map { upstream in
                .init(
                    name: upstream.name,
                    healthy: checks.filter { $0.upstreamName == upstream.name }.map(\.isHealthy))
            }, others: checked.count < upstreams.count, store: store(state.snapshot),
            list: sharedList(state.snapshot).map { .init(age: $0.age, isTooOld: $0.isTooOld) },
            refusedSignIns: tokenChecks(state.snapshot).compactMap { check in
                check.refusal.map { .init(issuer: check.issuer, text: $0.text) }
            },
            awaitedCertificates: (state.snapshot?.certificateService?.statuses ?? []).compactMap { standing in
                guard standing.obtainedAt == nil else { return nil }
                return ReadinessReport.AwaitedCertificate(name: standing.name, error: standing.error)
            })
    }

    private static func tokenChecks(_ snapshot: ConfigurationSnapshot?) -> [SignInTokenCheck] {
        snapshot?.plan.accounts.flatMap(\.members).compactMap(\.accounts.tokenCheck) ?? []
    }

    private static func sharedList(_ snapshot: ConfigurationSnapshot?) -> MetricsReadings.SharedList? {
        guard let status = snapshot?.plan.revocations?.status, status.isShared else { return nil }
        return .init(age: status.age, isTooOld: status.isTooOld, isNotified: status.notice == .notify)
    }

    /// Waits until all gateways apply the revocations made so far. Returns at once if the state is not shared.
    func confirm(within patience: Duration) async throws -> Confirmations {
        guard let replicas = snapshot?.replicas else { return Confirmations(confirmed: 1, all: 1) }
        return try await replicas.confirm(within: patience)
    }

    private static func store(_ snapshot: ConfigurationSnapshot?) -> ReadinessReport.Store? {
        guard let snapshot, let store = snapshot.store else { return nil }
        return .init(
            error: store.writeError, isNeeded: snapshot.settings.needsStore, isShared: store.isShared)
    }

    /// The number of log lines lost since the start, for each log.
    package var linesLost: [(log: String, count: Int)] { linesLost(snapshot) }

    private func linesLost(_ snapshot: ConfigurationSnapshot?) -> [(log: String, count: Int)] {
        [
            ("access", snapshot?.accessLog?.lost ?? 0), ("audit", snapshot?.accountServices?.auditLog.lost ?? 0),
            ("application", logs.lost),
        ]
    }

    var readings: MetricsReadings {
        let state = state.withLock { $0 }
        let snapshot = state.snapshot
        let plan = snapshot?.plan
        return MetricsReadings(
            keySets: Self.keyServices(snapshot).map(GatewayMetrics.reading),
            certificates: (snapshot?.certificates ?? []).map {
                .init(listener: $0.listener, name: $0.names.first ?? "", expiresAt: $0.expiresAt)
            },
            acme: snapshot?.certificateService.map(GatewayMetrics.reading),
            revocations: plan?.revocations.map(\.status).map { status in
                .init(
                    entries: status.count, limit: status.limit, failures: status.failures,
                    superseded: status.superseded, shared: Self.sharedList(snapshot))
            },
            assertionKeyAge: plan?.assertionKeys?.signingSince.map { Double(max(0, WallClock.seconds() - $0)) },
            ownKeys: snapshot?.ownKeys ?? [], reloads: state.reloads,
            directApplications: plan?.directApplications.snapshot ?? ([], 0),
            directCalls: plan?.directApplications.calls ?? [],
            accountServices: snapshot?.accountServices.map(\.readings), linesLost: linesLost(snapshot),
            exports: exports, nameLookups: GatewayMetrics.nameLookups,
            process: .now(startedAt: startedAt), version: GatehouseVersion.current,
            storeIsWritable: snapshot?.store.map { $0.writeError == nil },
            database: snapshot?.store?.readings.map(GatewayMetrics.reading),
            replicas: snapshot?.replicas.map { GatewayMetrics.counts($0.known) } ?? [],
            drainedServers: drainedServers.names, isReady: Self.readiness(state).isReady,
            isDraining: state.drainingSince != nil)
    }
}
