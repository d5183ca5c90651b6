internal import Accounts
internal import Admin
internal import Clocks
internal import Curl
internal import Keys
internal import Listener
internal import Logging
internal import NIOCore
internal import Pipeline
internal import Proxy
internal import Settings
internal import SettingsReader
internal import Sockets
internal import Store
internal import Telemetry

/// The running gateway: its listeners, the current configuration snapshot, and the change to the next one.
actor RunningGateway {
    private let addresses: ListenerAddresses
    let maker: SnapshotMaker
    let status: GatewayStatus
    let logs: GatewayLogs
    /// The environment variables with which settings are read.
    let environment: [String: String]
    private(set) var snapshot: ConfigurationSnapshot
    /// The client listeners, in the order of the snapshot's settings.
    private(set) var listeners: [HTTPListener]
    let admin: HTTPListener
    var background = BackgroundWork()
    private let logWatch: LogWatch
    private let history: MetricsHistory
    /// The removed listeners that still have connections, each with its drain.
    var leaving: [ObjectIdentifier: (listener: HTTPListener, drain: Task<Void, Never>)] = [:]
    var isDraining = false
    var fileWatch = FileWatch()
    var filesKeptOut = RejectedFiles()

    var logger: Logger { logs.logger }

    /// The bound addresses of the client listeners and of the admin listener.
    var localAddresses: (listeners: [SocketAddress], admin: SocketAddress?) {
        (listeners.compactMap(\.localAddress), admin.localAddress)
    }

    // MARK: Start

    /// Binds every address and starts to serve. If that fails, everything already started is stopped.
    static func start(
        _ settings: GatewaySettings, on group: SocketEventLoopGroup, logs: GatewayLogs,
        tracing: CurrentTracing, reloads: ReloadRequests, environment: [String: String]
    ) async throws -> RunningGateway {
        let curls = try await curlLoops(on: group)
        let directory = LoopDirectory()
        let status = GatewayStatus(now: WallClock.seconds(), logs: logs)
        let metrics = GatewayMetrics.registry(status)
        for _ in curls { _ = metrics.makeLoopMetrics() }
        let history = MetricsHistory(metrics)
        let maker = SnapshotMaker(
            curls: curls, directory: directory, metrics: metrics, logs: logs, tracing: tracing,
            exports: status.exports, signatures: curls.count > 1 ? VerifiedSignatures() : nil,
            drainedServers: status.drainedServers, recent: status.recent)
        do {
            let snapshot = try await maker.make(settings, after: nil)
            metrics.use(snapshot.metrics)
            status.follow(snapshot)
            maker.tracing.recorder = snapshot.plan.tracing?.recorder
            directory.set(try await gateways(snapshot, curls))
            let changes = AdminChanges(
                reloads: reloads, status: status, directory: directory, drainedServers: status.drainedServers,
                callsUnderWay: maker.callsUnderWay, logs: logs)
            let addresses = ListenerAddresses(group: group, directory: directory)
            let admin = try await addresses.bind(
                snapshot.listeners.admin, at: "admin.address", of: settings
            ) { eventLoop in
                AdminService(
                    eventLoop: eventLoop, metrics: metrics, history: history, status: status, changes: changes)
            }
            let gateway = RunningGateway(
                addresses, maker, status, snapshot, admin: admin, history: history, logs: logs,
                environment: environment)
            try await gateway.bindAll()
            await gateway.warn()
            return gateway
        } catch {
            await close(curls)
            throw error
        }
    }

    private init(
        _ addresses: ListenerAddresses, _ maker: SnapshotMaker, _ status: GatewayStatus,
        _ snapshot: ConfigurationSnapshot,
        admin: HTTPListener, history: MetricsHistory, logs: GatewayLogs, environment: [String: String]
    ) {
        self.addresses = addresses
        self.maker = maker
        self.status = status
        self.logs = logs
        self.environment = environment
        self.snapshot = snapshot
        self.admin = admin
        self.history = history
        listeners = []
        logWatch = LogWatch(logger: logs.logger) { [status] in status.linesLost }
    }

    private func bindAll() async throws {
        do {
            try await beginReplica()
            let all = ListenerChanges(from: [], to: snapshot.settings.listeners.map(\.address))
            let bound = try await addresses.bindNew(all, of: snapshot, accepts: true)
            listeners = snapshot.listeners.clients.indices.compactMap { bound[$0] }
        } catch {
            await admin.drain(grace: .zero)
            await noteEnd(hasServed: false)
            throw error
        }
        snapshot.applySettings()
        background.begin(services(of: snapshot))
    }

    /// Registers this gateway with the others that share the database, and reopens the retry windows of killed
    /// gateways, before anything is served.
    private func beginReplica() async throws {
        guard let replicas = snapshot.replicas else { return }
        do {
            try await replicas.begin()
            // From now on the other gateways wait for this one to confirm revocations; earlier revocations are read
            // here.
            try await snapshot.plan.revocations?.follow()
        } catch {
            throw StartupError(description: "this gateway cannot be listed with the others: \(error)")
        }
    }

    /// All background services, including those that no reload changes.
    private func services(of snapshot: ConfigurationSnapshot) -> [any BackgroundService] {
        snapshot.services + [logWatch, history]
    }

    /// Logs warnings about configurations that work but should be corrected.
    func warn() {
        for warning in snapshot.settings.plainPasswords {
            logger.warning(
                "passwords are accepted without TLS",
                metadata: ["setting": "\(warning.keyPath)", "reason": "\(warning.text)"])
        }
        if let warning = snapshot.settings.plainAdmin {
            logger.warning(
                "the admin listener is reached without TLS",
                metadata: ["setting": "\(warning.keyPath)", "reason": "\(warning.text)"])
        }
        for warning in snapshot.certificates.compactMap({ $0.warning(now: WallClock.seconds()) }) {
            logger.warning(
                "a certificate has expired or is about to",
                metadata: ["certificate": "\(warning)", "expires_at": .stringConvertible(warning.expiresAt)])
        }
    }

    /// Logs when the gateway is ready for the first time. Returns then, or when the task is cancelled.
    nonisolated func reportReadiness(since began: ContinuousClock.Instant) async {
        let notice = ReadinessLog(elapsed: { ContinuousClock.now - began }, logger: logs.logger) { [status] in
            (status.readiness, status.issuersWithoutKeys)
        }
        await notice.run()
    }

    private static func curlLoops(on group: SocketEventLoopGroup) async throws -> [NIOLoopBound<CurlLoop>] {
        var loops: [NIOLoopBound<CurlLoop>] = []
        for eventLoop in group.loops {
            loops.append(
                try await eventLoop.submit {
                    NIOLoopBound(try CurlLoop(eventLoop: eventLoop), eventLoop: eventLoop)
                }.get())
        }
        return loops
    }

    private static func gateways(
        _ snapshot: ConfigurationSnapshot, _ curls: [NIOLoopBound<CurlLoop>]
    ) async throws -> [NIOLoopBound<LoopGateway>] {
        var gateways: [NIOLoopBound<LoopGateway>] = []
        for (curl, metrics) in zip(curls, snapshot.metrics) {
            gateways.append(
                try await curl.eventLoop.submit {
                    NIOLoopBound(
                        LoopGateway(snapshot.plan, curl: curl.value, metrics: metrics), eventLoop: curl.eventLoop)
                }.get())
        }
        return gateways
    }

    private static func close(_ curls: [NIOLoopBound<CurlLoop>]) async {
        for curl in curls {
            // Throws only when the loop has shut down, and libcurl's part with it.
            try? await curl.eventLoop.submit { curl.value.close() }.get()
        }
    }

    // MARK: Reload

    /// Applies the settings that `load` returns, or logs why they cannot be used and changes nothing.
    ///
    /// Log files are reopened in any case, because log rotation may have moved them.
    func reload(_ load: @Sendable () throws -> GatewaySettings) async -> ReloadOutcome {
        for error in logs.reopen() { logger.error("log file not reopened", metadata: ["fault": "\(error)"]) }
        guard !isDraining else { return .stopping }
        let work = WorkInProgress.begin("reload")
        defer { WorkInProgress.end(work) }
        do {
            logger.debug("reload: reading the configuration")
            let settings = try load()
            let changes = try await takeOver(settings)
            // Only a reload resets the log level. A changed file or a new certificate also calls `takeOver`, but keeps
            // the level that an operator has set.
            logs.resetLevel(settings.logging)
            watchFilesAnew()
            for change in changes.differences { logger.info("configuration change", metadata: ["change": "\(change)"]) }
            logger.info("configuration reloaded", metadata: changes.metadata)
            status.reloaded(now: WallClock.seconds(), changesSecrets: !changes.secrets.isEmpty)
            warn()
            return .applied(changes.lines, differences: changes.differences)
        } catch is Draining {
            logger.notice("configuration not reloaded: the gateway is stopping")
            return .stopping
        } catch {
            let errors = ReloadErrors.lines(of: error)
            for error in errors { logger.error("configuration error", metadata: ["fault": "\(error)"]) }
            logger.error(
                "configuration not reloaded; the current one stays",
                metadata: ["faults": .stringConvertible(errors.count)])
            status.reloadFailed(errors, now: WallClock.seconds())
            return .refused(errors)
        }
    }

    /// Thrown if the gateway is stopped during a reload.
    struct Draining: Error {}

    /// Applies new settings. Everything that can fail runs first and does not affect the running service.
    func takeOver(_ settings: GatewaySettings) async throws -> ReloadSummary {
        let fixed = RestartSettings.changes(from: snapshot.settings, to: settings)
        guard fixed.isEmpty else { throw ReloadErrors(fixed) }
        logger.debug("reload: preparing the configuration snapshot", metadata: ["digest": "\(settings.digest)"])
        let next = try await maker.make(settings, after: snapshot)
        let changes = ListenerChanges(
            from: snapshot.settings.listeners.map(\.address), to: settings.listeners.map(\.address))
        let bound = try await addresses.bindNew(changes, of: next)
        logger.debug(
            "reload: addresses are bound",
            metadata: [
                "new": .stringConvertible(bound.count), "kept": .stringConvertible(changes.known.count { $0 != nil }),
                "left": .stringConvertible(changes.removed.count),
            ])
        let keyless = await prepareKeySets(next)
        do {
            guard !isDraining else { throw Draining() }
            guard keyless.isEmpty else { throw ReloadErrors(keyless) }
        } catch {
            for listener in bound.values { await listener.drain(grace: .zero) }
            throw error
        }
        let summary = ReloadSummary(from: snapshot, to: next)
        for installed in commit(next, changes, bound) { try await installed.get() }
        logger.debug("reload: every event loop uses it")
        // Cancelled only now: until an event loop uses the new plan, it may still pass spans to the previous service.
        background.end(except: services(of: next))
        return summary
    }

    /// Fetches the key sets of new issuers concurrently, so that no request meets an empty key set, and the gateway
    /// does not become unready, because of the reload.
    ///
    /// - Returns: an error for each key set that cannot be fetched.
    private func prepareKeySets(_ next: ConfigurationSnapshot) async -> [SettingsError] {
        let known = snapshot.plan.keyServices
        let new = next.plan.keyServices.filter { service in !known.contains { $0 === service } }
        logger.debug(
            "reload: fetching key sets", metadata: ["issuers": "\(new.map(\.issuer.name).joined(separator: " "))"])
        await withTaskGroup(of: Void.self) { tasks in
            for service in new { tasks.addTask { await service.prepare() } }
        }
        return new.filter { $0.currentSet == nil }.map { service in
            next.settings.error(
                of: "issuers.\(service.issuer.name)", "no key set can be had from \(service.issuer.keySource.place)")
        }
    }

    /// Switches to the next snapshot. It has no suspension point, so no other work can interleave.
    private func commit(
        _ next: ConfigurationSnapshot, _ changes: ListenerChanges, _ bound: [Int: HTTPListener]
    ) -> [EventLoopFuture<Void>] {
        let installed = maker.directory.install(next.plan, next.metrics)
        maker.metrics.use(next.metrics)
        status.follow(next)
        maker.tracing.recorder = next.plan.tracing?.recorder
        logs.adopt(next.places)
        next.applySettings()
        var current: [HTTPListener] = []
        for (index, settings) in next.listeners.clients.enumerated() {
            if let known = changes.known[index] {
                listeners[known].use(settings)
                current.append(listeners[known])
            } else if let new = bound[index] {
                new.startAccepting()
                current.append(new)
            }
        }
        admin.use(next.listeners.admin)
        for index in changes.removed { leave(listeners[index], grace: TimeAmount(next.settings.drainTimeout)) }
        listeners = current
        background.begin(services(of: next))
        snapshot = next
        return installed
    }
}
