package import Admin
internal import Clocks
internal import Listener
internal import Logging
internal import NIOCore
package import Settings
internal import SettingsReader
internal import Sockets
package import Telemetry

/// The whole gateway: it starts from settings, applies new settings while it runs, and drains when it is stopped.
package struct GatewayService: Sendable {
    private let settings: GatewaySettings
    private let load: @Sendable () throws -> GatewaySettings
    private let logs: GatewayLogs
    private let tracing: CurrentTracing
    private let environment: [String: String]
    private let onReady: @Sendable (_ listeners: [HostAndPort], _ admin: HostAndPort?) -> Void
    private let onReload: @Sendable (_ step: ReloadStep) -> Void
    private let requests = ReloadRequests()
    /// A stream without elements that ends when the gateway must stop.
    private let running: AsyncStream<Never>
    private let stopping: AsyncStream<Never>.Continuation

    /// - Parameters:
    ///   - settings: the settings to start with.
    ///   - environment: the environment variables with which the settings were read.
    ///   - load: reads the settings again for a ``reload()``; throws ``SettingsErrors`` if they are invalid.
    ///   - tracing: the current span recorder; updated whenever the settings change.
    ///   - onReady: called once when all addresses are bound.
    ///   - onReload: called when a reload begins, and with its outcome when it ends.
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

    /// Checks that the settings are consistent and that the paths that are written to have the expected kind, without
    /// starting anything.
    ///
    /// - Throws: ``SettingsErrors``.
    package static func check(_ settings: GatewaySettings) throws {
        _ = try Wiring.fitted(settings, issuers: settings.trustedIssuers)
        let errors = settings.writtenPaths.compactMap(\.error)
        guard errors.isEmpty else { throw SettingsErrors(errors: errors.sorted { $0.line < $1.line }) }
    }

    /// The listeners' certificates that have expired or are about to expire.
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

    /// Reads the settings again and applies them as a whole. If they are invalid, nothing changes and the errors are
    /// logged. Returns immediately. Reloads run one at a time, after the start, and not while the gateway drains.
    package func reload() { requests.ask() }

    /// Makes ``run()`` finish the requests in flight and return. Returns immediately. Only the first call has an
    /// effect.
    package func stop() { stopping.finish() }

    /// Serves until ``stop()`` is called or the task is cancelled; both have the same effect.
    ///
    /// - Throws: ``SettingsErrors``, or another error that prevents the start.
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

    /// Serves until the gateway must stop, then finishes the requests in flight.
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
    /// Nil if the address is not a network address.
    fileprivate init?(_ address: SocketAddress) {
        guard let host = address.ipAddress, let port = address.port else { return nil }
        self.init(host: host, port: port)
    }
}
