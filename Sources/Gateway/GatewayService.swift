internal import Curl
internal import Glibc
internal import HTTP1
internal import HTTPTypes
internal import Listener
package import Logging
package import NIOCore
internal import NIOPosix
internal import Pipeline
internal import ServiceLifecycle
package import Settings
internal import Synchronization
internal import Telemetry
internal import Upstream

/// The whole gateway: from settings to a running service that drains when it is told to stop.
package struct GatewayService: Service {
    private let settings: GatewaySettings
    private let logger: Logger
    private let onReady: @Sendable (_ listeners: [SocketAddress], _ admin: SocketAddress?) -> Void

    /// - Parameter onReady: called once when all addresses are bound.
    package init(
        settings: GatewaySettings, logger: Logger,
        onReady: @escaping @Sendable (_ listeners: [SocketAddress], _ admin: SocketAddress?) -> Void
    ) {
        self.settings = settings
        self.logger = logger
        self.onReady = onReady
    }

    /// Whether the settings fit together, without starting anything.
    ///
    /// - Throws: ``SettingsFaults``.
    package static func check(_ settings: GatewaySettings) throws {
        _ = try Wiring.gate(settings, issuers: Wiring.issuers(settings))
        _ = try Wiring.tls(settings.listeners)
    }

    package func run() async throws {
        let threads = settings.threads > 0 ? settings.threads : System.coreCount
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let running = try await start(on: group)
        await serve(running)
        await running.directory.close()
        running.accessLog?.shutdown()
        try await group.shutdownGracefully()
        logger.info("stopped")
    }

    private struct Running {
        var directory: LoopDirectory
        var keyServices: [KeySetService]
        var healthCheckers: [HealthChecker]
        var listeners: [HTTPListener]
        var admin: HTTPListener
        var accessLog: AccessLog?
        var isDraining: AtomicFlag
    }

    // MARK: Start

    private func start(on group: MultiThreadedEventLoopGroup) async throws -> Running {
        let issuers = Wiring.issuers(settings)
        let gate = try Wiring.gate(settings, issuers: issuers)
        let directory = LoopDirectory(issuerCount: issuers.count)
        let accessLog = settings.logging.accessLog ? AccessLog(write: AccessLog.standardOutput) : nil
        let curls = try await curlLoops(on: group)
        let keyServices = try await keyServices(issuers, curls[0], directory)
        let upstreams = Wiring.upstreams(settings)
        let plan = ServingPlan(
            gate: gate, upstreamOfRoute: Wiring.upstreamOfRoute(gate, upstreams), upstreams: upstreams,
            timeoutsOfRoute: Wiring.timeoutsOfRoute(settings, gate, upstreams),
            operations: Wiring.operations(settings),
            accounts: try Wiring.accounts(
                settings,
                fetcher: try await fetcher(curls[0], plain: settings.signIn.cognito?.endpoint.isPlain == true),
                logger: logger),
            keyServices: keyServices,
            directCognito: DirectCognitoAnswer(
                loginPath: (settings.signIn.cognito?.prefix ?? "/api/v1/auth") + "/login"),
            accessLog: accessLog)
        let isDraining = AtomicFlag()
        let readiness = Readiness(upstreams, directory, isDraining)
        let metrics = GatewayMetrics.registry(plan, readiness)
        directory.set(try await services(plan, curls, metrics))
        let listeners = try await bind(group, directory)
        let admin = try await bindAdmin(group, metrics, readiness)
        onReady(listeners.compactMap(\.localAddress), admin.localAddress)
        return Running(
            directory: directory, keyServices: keyServices,
            healthCheckers: try await healthCheckers(upstreams, curls, directory, readiness), listeners: listeners,
            admin: admin,
            accessLog: accessLog,
            isDraining: isDraining)
    }

    private func curlLoops(on group: MultiThreadedEventLoopGroup) async throws -> [NIOLoopBound<CurlLoop>] {
        var loops: [NIOLoopBound<CurlLoop>] = []
        for eventLoop in group.makeIterator() {
            loops.append(
                try await eventLoop.submit {
                    NIOLoopBound(try CurlLoop(eventLoop: eventLoop), eventLoop: eventLoop)
                }.get())
        }
        return loops
    }

    private func fetcher(_ curl: NIOLoopBound<CurlLoop>, plain: Bool) async throws -> CurlFetcher {
        try await curl.eventLoop.submit { CurlFetcher(loop: curl.value, allowsPlainText: plain) }.get()
    }

    private func keyServices(
        _ issuers: [Issuer], _ curl: NIOLoopBound<CurlLoop>, _ directory: LoopDirectory
    ) async throws -> [KeySetService] {
        var services: [KeySetService] = []
        for (index, issuer) in issuers.enumerated() {
            services.append(
                KeySetService(
                    issuer: issuer, policy: Wiring.keySetPolicy(settings.keySets),
                    fetcher: try await fetcher(curl, plain: settings.issuers[index].jwksURL.isPlain),
                    file: KeySetFile(directory: settings.stateDirectory, issuer: issuer), logger: logger,
                    now: { WallClock.seconds() },
                    publish: { directory.publish($0, ofIssuer: index) }))
        }
        return services
    }

    /// One for each server of the upstreams that want it; what it finds all loops hear.
    private func healthCheckers(
        _ upstreams: [Upstream.UpstreamSettings], _ curls: [NIOLoopBound<CurlLoop>], _ directory: LoopDirectory,
        _ readiness: Readiness
    ) async throws -> [HealthChecker] {
        var checkers: [HealthChecker] = []
        for (index, upstream) in upstreams.enumerated() {
            guard let healthCheck = upstream.healthCheck else { continue }
            for (number, server) in upstream.servers.enumerated() {
                let curl = curls[checkers.count % curls.count]
                let fetcher = try await curl.eventLoop.submit {
                    CurlFetcher(loop: curl.value, allowsPlainText: true, access: server.access)
                }.get()
                let logger = logger
                checkers.append(
                    HealthChecker(server: server, settings: healthCheck, fetcher: fetcher) { isHealthy in
                        logger.log(
                            level: isHealthy ? .notice : .warning, isHealthy ? "server healthy" : "server unhealthy",
                            metadata: ["upstream": "\(upstream.name)", "server": "\(server.name)"])
                        readiness.found(isHealthy: isHealthy, server: number, ofUpstream: index)
                        directory.publish(isHealthy: isHealthy, server: number, ofUpstream: index)
                    })
            }
        }
        return checkers
    }

    private func services(
        _ plan: ServingPlan, _ curls: [NIOLoopBound<CurlLoop>], _ metrics: MetricsRegistry
    ) async throws -> [NIOLoopBound<LoopService>] {
        var services: [NIOLoopBound<LoopService>] = []
        let requestsInFlight = RequestsInFlight(limit: settings.limits.requests)
        for curl in curls {
            let loopMetrics = metrics.makeLoopMetrics()
            services.append(
                try await curl.eventLoop.submit {
                    NIOLoopBound(
                        LoopService(
                            plan: plan, curl: curl.value, metrics: loopMetrics, requestsInFlight: requestsInFlight),
                        eventLoop: curl.eventLoop)
                }.get())
        }
        return services
    }

    private func bind(
        _ group: MultiThreadedEventLoopGroup, _ directory: LoopDirectory
    ) async throws -> [HTTPListener] {
        var listeners: [HTTPListener] = []
        for (listener, tls) in zip(settings.listeners, try Wiring.tls(settings.listeners)) {
            listeners.append(
                try await bind(listener, tls, group) { eventLoop in
                    guard let service = directory.service(on: eventLoop) else {
                        preconditionFailure("every loop of the group has a service")
                    }
                    return service
                })
        }
        return listeners
    }

    private func bindAdmin(
        _ group: MultiThreadedEventLoopGroup, _ metrics: MetricsRegistry, _ readiness: Readiness
    ) async throws -> HTTPListener {
        let plain = ListenSettings(address: settings.adminAddress, http2: false, tls: nil)
        return try await bind(plain, nil, group) { _ in
            AdminService(metrics: metrics, readiness: readiness)
        }
    }

    /// - Throws: ``WiringFault`` that names the address.
    private func bind(
        _ listener: ListenSettings, _ tls: ListenerTLS?, _ group: MultiThreadedEventLoopGroup,
        service: @escaping @Sendable (any EventLoop) -> any RequestService
    ) async throws -> HTTPListener {
        do {
            return try await HTTPListener.bind(listenerSettings(listener, tls), group: group, service: service)
        } catch let error as IOError {
            let reason = unsafe String(cString: strerror(error.errnoCode))
            throw WiringFault(description: "cannot listen on \(listener.address): \(reason)")
        } catch {
            throw WiringFault(description: "cannot listen on \(listener.address): \(error)")
        }
    }

    private func listenerSettings(_ listener: ListenSettings, _ tls: ListenerTLS?) -> ListenerSettings {
        let limits = settings.limits
        return ListenerSettings(
            host: listener.address.host, port: listener.address.port,
            head: HeadLimits(
                requestLine: limits.requestLineBytes, fieldLine: limits.headerLineBytes, head: limits.headerBytes,
                fieldCount: limits.headerCount),
            handshakeTimeout: TimeAmount(limits.handshakeTimeout), headTimeout: TimeAmount(limits.headerTimeout),
            bodyIdleTimeout: TimeAmount(limits.bodyIdleTimeout),
            keepAliveTimeout: TimeAmount(limits.keepAliveTimeout),
            connections: limits.connections, proxies: listener.proxies, tls: tls,
            http2: listener.http2 ? http2Limits : nil)
    }

    private var http2Limits: HTTP2Limits {
        let limits = settings.limits.http2
        return HTTP2Limits(
            streams: limits.streams, resets: limits.resets, resetWindow: TimeAmount(limits.resetWindow),
            continuationFrames: limits.continuationFrames)
    }

    // MARK: Serve and stop

    /// Keeps the key sets fresh until a graceful shutdown begins, then lets what is in flight finish.
    private func serve(_ running: Running) async {
        await withTaskGroup(of: Void.self) { tasks in
            for service in running.keyServices { tasks.addTask { await service.run() } }
            for checker in running.healthCheckers { tasks.addTask { await checker.run() } }
            // Ends by throwing when the task is cancelled instead, which means the same here.
            try? await gracefulShutdown()
            await drain(running)
            tasks.cancelAll()
        }
    }

    private func drain(_ running: Running) async {
        running.isDraining.set()
        logger.info("draining", metadata: ["grace": "\(settings.drainTimeout)"])
        let grace = TimeAmount(settings.drainTimeout)
        await withTaskGroup(of: Void.self) { tasks in
            for listener in running.listeners { tasks.addTask { await listener.drain(grace: grace) } }
        }
        await running.admin.drain(grace: .zero)
    }
}

/// A flag that is set once and read anywhere.
final class AtomicFlag: Sendable {
    private let flag = Atomic(false)

    func set() { flag.store(true, ordering: .releasing) }
    var isSet: Bool { flag.load(ordering: .acquiring) }
}
