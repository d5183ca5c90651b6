internal import ACME
internal import Accounts
internal import Admin
internal import Clocks
internal import Cryptography
internal import Curl
internal import Encoding
internal import HTTPClient
internal import Keys
internal import Listener
internal import Logging
internal import NIOCore
internal import Pipeline
internal import Proxy
internal import Sessions
internal import Settings
internal import SettingsReader
internal import Store
internal import Telemetry
internal import Upstream

/// Makes a ``ConfigurationSnapshot`` from settings. Unchanged parts are taken over from the previous snapshot. The
/// running service is not affected.
struct SnapshotMaker: Sendable {
    let curls: [NIOLoopBound<CurlLoop>]
    let directory: LoopDirectory
    let metrics: MetricsRegistry
    let logs: GatewayLogs
    let tracing: CurrentTracing
    let exports: ExportTallies
    let signatures: VerifiedSignatures?
    let drainedServers: DrainedServers
    let recent: RecentEvents
    let challenges = PendingChallenges()
    let callsUnderWay = CallsInFlight()
    let accountTally = AccountTally(expected: AccountTally.Key.expected)

    var logger: Logger { logs.logger }

    /// - Throws: ``SettingsErrors``, also for a state directory or key file that the operator must correct; or another
    ///   error that prevents the use of these settings.
    func make(_ settings: GatewaySettings, after previous: ConfigurationSnapshot?) async throws -> ConfigurationSnapshot
    {
        do {
            return try await snapshot(of: settings, after: previous)
        } catch {
            if let error = error as? SharedKeyError {
                throw SettingsErrors(errors: [settings.error(of: SharedKeyError.setting, error.description)])
            }
            guard let error = error as? KeyFileError ?? (error as? StartupError)?.ofStateDirectory, !error.mayPass
            else {
                throw error
            }
            throw SettingsErrors(errors: [settings.error(of: "state_directory", error.description)])
        }
    }

    private func snapshot(of settings: GatewaySettings, after previous: ConfigurationSnapshot?) async throws
        -> ConfigurationSnapshot
    {
        if previous == nil { try Self.checkStateDirectory(settings) }
        let issuers = settings.trustedIssuers
        let knownTLS = previous?.knownTLS ?? []
        let (gate, _) = try Wiring.fitted(settings, issuers: issuers, knownTLS: knownTLS)
        let upstreams = settings.upstreams.map(\.upstream)
        let served = upstreams.map { Self.served($0, after: previous) }
        let places = try logs.places(settings)
        let store = try await store(settings, after: previous)
        let records = store?.records
        let certificateService = try await certificateService(settings, store, after: previous)
        let obtained = certificateService?.certificates ?? []
        let listeners = try Wiring.listeners(
            settings, knownTLS: knownTLS, obtained: obtained, challenges: challenges)
        let revocations = try await revocations(settings, records, after: previous)
        let replicas = replicas(settings, records, revocations, after: previous)
        let ownKeys = try await ownKeys(settings, store, after: previous)
        let assertionKeys = try await assertionKeys(settings, ownKeys.rings, records?.clock, after: previous)
        let sessionKeys = try await sessionKeys(settings, ownKeys.rings, records?.clock, after: previous)
        let userAttributes = try await userAttributes(settings, after: previous)
        let accountServices = try await accountServices(
            settings, records, assertionKeys, ownKeys, places, userAttributes, after: previous)
        if let replicas {
            accountServices?.limits.share { max(1, replicas.known.count { $0.state == .alive }) }
        }
        let accessLog = Self.accessLog(settings, places, accountServices?.hashes, after: previous)
        let tracing = try await traceService(settings, after: previous)
        let sessionEnds = try await sessionEnds(settings, records, revocations, after: previous)
        let keyServices = try await keyServices(settings, issuers, sessionKeys, after: previous)
        let endpoints = try await sessionEndpoints(
            settings, records, sessionEnds, sessionKeys, ownKeys, keyServices, accountServices, after: previous)
        let accounts = try await accounts(
            settings, records, revocations, ownKeys, keyServices, accountServices, after: previous)
        let plan = ServingPlan(
            gate: gate, upstreamOfRoute: Wiring.upstreamOfRoute(gate, upstreams), upstreams: served,
            timeoutsOfRoute: Wiring.timeoutsOfRoute(settings, gate, upstreams),
            rateLimiters: Self.rateLimiters(gate, after: previous),
            endpoints: Wiring.endpoints(settings),
            accounts: accounts,
            sessions: endpoints, sessionPrefix: settings.signIn.apple.map { $0.prefix + "/" },
            keyServices: keyServices,
            userAttributes: userAttributes,
            directCognito: DirectCognitoAnswer(
                loginPath: (settings.signIn.cognito?.prefix ?? "/api/v1/auth") + "/login"),
            directCalls: try await directCalls(
                settings, records, ownKeys, keyServices, accountServices, revocations, accounts),
            directApplications: previous?.plan.directApplications ?? ApplicationTally(),
            audit: accountServices?.audit, trustedProxies: TrustedProxies(settings.trustedProxies),
            assertionKeys: assertionKeys, sessionKeys: sessionKeys,
            revocations: revocations,
            accessLog: settings.logging.accessLog ? accessLog : nil,
            accessSampler: AccessSampler(settings, routes: gate.rules.map(\.name)), tracing: tracing,
            signatures: signatures, drainedServers: drainedServers, recent: recent,
            tokenRules: TokenRules(settings, issuers: issuers, gate: gate),
            requestLimit: settings.limits.requests, addressLimit: settings.limits.requestsPerAddress,
            requestsInFlight: previous?.plan.requestsInFlight ?? RequestsInFlight(), callsUnderWay: callsUnderWay,
            logger: logger)
        let labels = GatewayMetrics.labels(routes: gate.routes.routes.map(\.name), upstreams: upstreams)
        return ConfigurationSnapshot(
            settings: settings, plan: plan, metrics: metrics.successors(labels), listeners: listeners,
            checks: try await checks(served, after: previous), accessLog: accessLog, store: store,
            upkeep: previous?.upkeep ?? records.map { StoreUpkeep($0, logger: logger) { WallClock.seconds() } },
            storeWatch: previous?.storeWatch ?? store.map { StoreWatch($0, logger: logger) }, replicas: replicas,
            places: places,
            sessionEnds: sessionEnds, grantValidation: endpoints?.grantValidation,
            accountServices: accountServices, sharedKeys: ownKeys.shared,
            unredeemedCodes: UnredeemedCodes(accounts.flatMap(\.members).map(\.accounts)),
            leftOverSessions: LeftOverSessions(accounts.flatMap(\.members).map(\.accounts)),
            certificateService: certificateService, obtained: obtained)
    }

    func fetcher(
        plain: Bool, privately: Bool = true, access: CurlAccess = CurlAccess(),
        on curl: NIOLoopBound<CurlLoop>? = nil
    ) async throws -> any Fetcher {
        let curl = curl ?? curls[0]
        return try await curl.eventLoop.submit {
            CurlFetcher(loop: curl.value, allowsPlainText: plain, allowsPrivateAddresses: privately, access: access)
        }.get()
    }

    /// Returns a fetcher for fetches on behalf of requests, with tracing and logging.
    func tracedFetcher(plain: Bool) async throws -> any Fetcher {
        TracedFetcher(LoggedFetcher(try await fetcher(plain: plain), logger))
    }

    private func traceService(
        _ settings: GatewaySettings, after previous: ConfigurationSnapshot?
    ) async throws -> TraceService? {
        guard let tracing = settings.tracing else { return nil }
        if let known = previous?.plan.tracing, known.settings == tracing { return known }
        return TraceService(
            tracing, fetcher: LoggedFetcher(try await fetcher(plain: tracing.allowsPlainText), logger),
            tallies: exports, metrics: metrics, logger: logger)
    }

    private static func accessLog(
        _ settings: GatewaySettings, _ places: LogSinks, _ hashes: UserHashes?, after previous: ConfigurationSnapshot?
    ) -> AccessLog? {
        if let known = previous?.accessLog { return known }
        return settings.logging.accessLog ? AccessLog(hashes, places.access.format, write: places.access.write) : nil
    }

    // MARK: Upstreams

    private static func served(_ settings: UpstreamSettings, after previous: ConfigurationSnapshot?)
        -> ServedUpstream
    {
        if let known = previous?.plan.upstreams.first(where: { $0.settings == settings }) { return known }
        let isChecked = settings.healthCheck != nil
        let unhealthy = settings.servers.indices.filter { server in
            isChecked && previous?.isHealthy(settings.servers[server].name, of: settings.name) == false
        }
        return ServedUpstream(number: UpstreamNumber.next(), settings: settings, knownUnhealthy: unhealthy)
    }

    /// Returns a health check for each server of the upstreams that configure one. The results are distributed to all
    /// loops.
    private func checks(_ upstreams: [ServedUpstream], after previous: ConfigurationSnapshot?) async throws
        -> [ServerCheck]
    {
        var checks: [ServerCheck] = []
        for upstream in upstreams {
            guard let healthCheck = upstream.settings.healthCheck else { continue }
            for (number, server) in upstream.settings.servers.enumerated() {
                if let known = previous?.checks.first(where: { $0.isOf(upstream, server: number) }) {
                    checks.append(known)
                    continue
                }
                let fetcher = try await fetcher(
                    plain: true, access: server.access, on: curls[checks.count % curls.count])
                checks.append(
                    ServerCheck(upstream, server: number, healthCheck, fetcher, logger: logger) { [directory] in
                        directory.publish(isHealthy: $0, server: number, ofUpstream: upstream.number)
                    })
            }
        }
        return checks
    }

    /// Returns the rate limiters. A limiter whose limit has not changed keeps its counts.
    private static func rateLimiters(_ gate: Gate, after previous: ConfigurationSnapshot?) -> [RateLimiter?]? {
        let routes = gate.routes.routes
        guard routes.contains(where: { $0.rateLimit != nil }) else { return nil }
        let before = previous?.plan
        let known = zip(before?.gate.routes.routes ?? [], before?.rateLimiters ?? []).map { ($0.name, $1) }
        return routes.map { route in
            guard let limit = route.rateLimit else { return nil }
            let same = known.first { $0.0.hasSameBytes(as: route.name) && $0.1?.limit == limit }
            return same?.1 ?? RateLimiter(limit)
        }
    }

    // MARK: The store

    /// Refuses a state directory that others can change, before anything in it is read. An unused state directory is
    /// not checked.
    private static func checkStateDirectory(_ settings: GatewaySettings) throws {
        let isUsed =
            !settings.issuers.isEmpty || RotationSchedule.assertionKeys(settings) != nil || settings.acme != nil
        guard isUsed else { return }
        try StateDirectory(path: settings.stateDirectory).check()
    }

    /// Returns the store; nil if no tokens are accepted and no shared state is configured.
    private func store(
        _ settings: GatewaySettings, after previous: ConfigurationSnapshot?
    ) async throws -> (any StateStore)? {
        if let known = previous?.store { return known }
        guard !settings.issuers.isEmpty || settings.state != nil else { return nil }
        let store = try await GatewayState.openToServe(settings)
        if let copy = store.copyOfOlderSchema {
            logger.notice("the store's schema was changed, after a copy of it", metadata: ["copy": "\(copy)"])
        }
        return store
    }

    // MARK: Revocations

    /// Returns the revocation service after it has read all stored revocations, so that no revoked token is accepted
    /// after a restart.
    private func revocations(
        _ settings: GatewaySettings, _ records: GatewayRecords?, after previous: ConfigurationSnapshot?
    ) async throws -> RevocationService? {
        guard let records else { return nil }
        let clock = records.clock
        let service =
            previous?.plan.revocations
            ?? RevocationService(
                records: records.revocations,
                maximumCount: settings.limits.revocations, logger: logger,
                // Tokens expire by the system clock: no revocation may be removed by a later time.
                now: {
                    let now = WallClock.seconds()
                    return min(now, clock.pruningTime(now))
                },
                revocationTime: { clock.latestTime(WallClock.seconds()) }, staleness: Wiring.staleness(settings),
                publish: { [directory] in await directory.refreshRevocations() })
        do {
            try await service.follow()
        } catch  where previous?.plan.revocations != nil && service.status.isShared {
            // An operator may need this reload just because the database is unreachable.
            logger.warning("revocations cannot be read at this reload", metadata: ["error": "\(error)"])
        } catch {
            throw StartupError(description: "revocations cannot be read: \(error)")
        }
        return service
    }

    // MARK: The other gateways

    /// Returns the replica service, not yet registered; nil if the state is not shared.
    private func replicas(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ revocations: RevocationService?,
        after previous: ConfigurationSnapshot?
    ) -> ReplicaService? {
        if let known = previous?.replicas { return known }
        guard let replicas = records?.replicas, let revocations else { return nil }
        let service = ReplicaService(
            replicas, id: Hexadecimal.encode(SecureRandom.bytes(8)), name: HostName.current,
            version: GatehouseVersion.current, configuration: settings.digest,
            patience: Wiring.patience(settings), logger: logger
        ) { [revocations] in
            revocations.standing.map { .init(position: $0.position, age: $0.age) }
        }
        revocations.afterReading { [weak service] in service?.listWasRead() }
        return service
    }
}
