package import Admin
internal import Clocks
internal import Listener
internal import Logging
internal import NIOCore
package import Settings
internal import SettingsReader
internal import Sockets
package import Telemetry

/// The whole gateway: from settings to a running service that takes new settings over while it runs, and drains when it
/// is told to stop.
package struct GatewayService: Sendable {
    private let settings: GatewaySettings
    private let load: @Sendable () throws -> GatewaySettings
    private let logs: GatewayLogs
    private let tracing: CurrentTracing
    private let environment: [String: String]
    private let onReady: @Sendable (_ listeners: [HostAndPort], _ admin: HostAndPort?) -> Void
    private let onReload: @Sendable (_ step: ReloadStep) -> Void
    private let requests = ReloadRequests()
    /// Without elements; it ends when the gateway is to stop.
    private let running: AsyncStream<Never>
    private let stopping: AsyncStream<Never>.Continuation

    /// - Parameters:
    ///   - settings: what it starts with.
    ///   - environment: what they were read with.
    ///   - load: reads them again for a ``reload()``; throws ``SettingsErrors`` for faulty ones.
    ///   - tracing: follows the settings in use.
    ///   - onReady: called once when all addresses are bound.
    ///   - onReload: called when a reload begins, and when it has ended, however it did.
    package init(
        settings: GatewaySettings, environment: [String: String],
        load: @escaping @Sendable () throws -> GatewaySettings, logs: GatewayLogs, tracing: CurrentTracing,
        onReady: @escaping @Sendable (_ listeners: [HostAndPort], _ admin: HostAndPort?) -> Void,
        onReload: @escaping @Sendable (_ step: ReloadStep) -> Void = { _ in }
    ) {
        self.settings = settings
        self.environment = environment
        self.load = load
        self.logs = logs
        self.tracing = tracing
        self.onReady = onReady
        self.onReload = onReload
        (running, stopping) = AsyncStream.makeStream()
    }

    /// Whether the settings fit together, and what they say is written to is not of another kind, without starting
    /// anything.
    ///
    /// - Throws: ``SettingsErrors``.
    package static func check(_ settings: GatewaySettings) throws {
        _ = try Wiring.fitted(settings, issuers: settings.trustedIssuers)
        let errors = settings.writtenPaths.compactMap(\.error)
        guard errors.isEmpty else { throw SettingsErrors(errors: errors.sorted { $0.line < $1.line }) }
    }

    /// The certificates of its listeners that have expired or are about to.
    ///
    /// - Throws: ``SettingsErrors``.
    package static func certificateWarnings(_ settings: GatewaySettings) throws -> [CertificateWarning] {
        let shown = try Wiring.listeners(settings).all.certificates
        return ShownCertificate.all(settings.allListeners, shown).compactMap { $0.warning(now: WallClock.seconds()) }
    }

    /// Notes about listeners whose behaviour is valid but may not be intended.
    package static func notes(_ settings: GatewaySettings) -> [String] {
        settings.listeners.filter { $0.serverNames == nil && $0.authorization == nil }.map { listener in
            "\(listener.address) serves requests for any Host: server_names keeps others from the backends"
        }
    }

    /// Reads the settings again and lets them take over as a whole, or not at all when they are faulty, which the log
    /// tells. Returns at once: it is done after the start, one after the other, and not at all while draining.
    package func reload() { requests.ask() }

    /// Has ``run()`` let what is in flight finish, and return. Returns at once; all calls but the first do nothing.
    package func stop() { stopping.finish() }

    /// Serves until ``stop()`` or the task's cancellation, which mean the same.
    ///
    /// - Throws: ``SettingsErrors``, and what keeps the gateway from its start.
    package func run() async throws {
        let began = ContinuousClock.now
        logs.logger.info(
            "starting",
            metadata: [
                "version": "\(GatehouseVersion.current)", "configuration": "\(settings.origin)",
                "digest": "\(settings.digest)",
            ])
        let group = try SocketEventLoopGroup(count: RestartSettings.loops(settings))
        do {
            let gateway = try await RunningGateway.start(
                settings, on: group, logs: logs, tracing: tracing, reloads: requests, environment: environment)
            let addresses = await gateway.localAddresses
            onReady(addresses.listeners.compactMap(HostAndPort.init), addresses.admin.flatMap(HostAndPort.init))
            await serve(gateway, since: began)
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
        logs.logger.info("stopped")
    }

    /// Serves until it is to stop, then lets what is in flight finish.
    private func serve(_ gateway: RunningGateway, since began: ContinuousClock.Instant) async {
        let notice = Task { await gateway.reportReadiness(since: began) }
        let looks = Task { await requests.askForLooks(every: RunningGateway.timeBetweenLooks) }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                await requests.serve {
                    onReload(.begun)
                    let outcome = await gateway.reload(load)
                    onReload(outcome.step)
                    return outcome
                } look: {
                    await gateway.followFiles()
                    await gateway.followCertificates()
                }
            }
            for await _ in running {}
            notice.cancel()
            looks.cancel()
            await gateway.drain()
            requests.finish()
            await gateway.close()
        }
    }
}

extension HostAndPort {
    /// Nil for what is no address of a network.
    fileprivate init?(_ address: SocketAddress) {
        guard let host = address.ipAddress, let port = address.port else { return nil }
        self.init(host: host, port: port)
    }
}
