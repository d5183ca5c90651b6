internal import Curl
internal import Listener
internal import Logging
internal import NIOCore
internal import Pipeline
internal import Settings
internal import SignIn
internal import Store
internal import Telemetry
internal import Upstream

/// Everything that one reading of the settings leads to.
struct Generation: Sendable {
    let settings: GatewaySettings
    let plan: ServingPlan
    /// One for each event loop.
    let metrics: [LoopMetrics]
    /// One for each listener of the settings.
    let listeners: [ListenerSettings]
    let checks: [ServerCheck]
    /// Made when it is first switched on, and kept.
    let accessLog: AccessLog?
    /// Nil where no tokens are taken.
    let store: Store?
    /// Nil where nobody has signed in here.
    let sessions: StoredSessions?
    /// Nil where the gateway keeps no users and no sessions of its own.
    let userSessions: SessionService?
    /// Nil where the gateway does not speak to Apple.
    let grantValidation: AppleGrantValidation?
    /// Nil where no tokens are taken.
    let conduct: ConductService?

    /// One for each key set service of the plan.
    var keySetPolicies: [KeySetService.Policy] { Wiring.keySetPolicies(settings) }

    /// What is in use for listeners with TLS.
    var knownTLS: [(TLSParameters, ListenerTLS)] {
        zip(settings.listeners, listeners).compactMap { configured, bound in
            guard let parameters = Wiring.parameters(configured), let tls = bound.tls else { return nil }
            return (parameters, tls)
        }
    }
}

/// Makes a ``Generation`` of settings. What these leave as it was is taken over from the one before; nothing that
/// serves is touched.
struct GenerationMaker: Sendable {
    let curls: [NIOLoopBound<CurlLoop>]
    let directory: LoopDirectory
    let metrics: MetricsRegistry
    let logger: Logger

    /// - Throws: ``SettingsFaults``, or what else stands against these settings.
    func make(_ settings: GatewaySettings, after previous: Generation?) async throws -> Generation {
        let issuers = Wiring.issuers(settings)
        let (gate, listeners) = try Wiring.fitted(settings, issuers: issuers, knownTLS: previous?.knownTLS ?? [])
        let upstreams = Wiring.upstreams(settings)
        let served = upstreams.map { Self.served($0, after: previous) }
        let accessLog = accessLog(settings, after: previous)
        let store = try await store(settings, after: previous)
        let revocations = try await revocations(settings, store, after: previous)
        let sessions = try sessions(settings, store, after: previous)
        let assertionKeys = try assertionKeys(settings, after: previous)
        let sessionKeys = try sessionKeys(settings, after: previous)
        let conduct = try await conduct(settings, store, assertionKeys, after: previous)
        let userSessions = try await userSessions(settings, store, revocations, after: previous)
        let keyServices = try await keyServices(settings, issuers, sessionKeys, after: previous)
        let endpoints = try await sessionEndpoints(
            settings, userSessions, sessionKeys, keyServices, conduct, after: previous)
        let plan = ServingPlan(
            gate: gate, upstreamOfRoute: Wiring.upstreamOfRoute(gate, upstreams), upstreams: served,
            timeoutsOfRoute: Wiring.timeoutsOfRoute(settings, gate, upstreams),
            endpoints: Wiring.endpoints(settings),
            accounts: try await accounts(settings, sessions, revocations, conduct, after: previous),
            sessions: endpoints, keyServices: keyServices,
            directCognito: DirectCognitoAnswer(
                loginPath: (settings.signIn.cognito?.prefix ?? "/api/v1/auth") + "/login"),
            directCalls: try await directCalls(settings, conduct, revocations),
            directApplications: previous?.plan.directApplications ?? ApplicationTally(),
            audit: conduct?.audit, trustedProxies: TrustedProxies(settings.trustedProxies),
            assertionKeys: assertionKeys, sessionKeys: sessionKeys,
            revocations: revocations,
            accessLog: settings.logging.accessLog ? accessLog : nil,
            tokenRules: TokenRules(settings, issuers: issuers, gate: gate),
            requestLimit: settings.limits.requests,
            requestsInFlight: previous?.plan.requestsInFlight ?? RequestsInFlight())
        let labels = GatewayMetrics.labels(routes: gate.routes.routes.map(\.name), upstreams: upstreams)
        return Generation(
            settings: settings, plan: plan, metrics: metrics.successors(labels), listeners: listeners,
            checks: try await checks(served, after: previous), accessLog: accessLog, store: store, sessions: sessions,
            userSessions: userSessions, grantValidation: endpoints?.grantValidation, conduct: conduct)
    }

    private func fetcher(
        plain: Bool, privately: Bool = true, access: CurlAccess = CurlAccess(),
        on curl: NIOLoopBound<CurlLoop>? = nil
    ) async throws -> CurlFetcher {
        let curl = curl ?? curls[0]
        return try await curl.eventLoop.submit {
            CurlFetcher(loop: curl.value, allowsPlainText: plain, allowsPrivateAddresses: privately, access: access)
        }.get()
    }

    private func accessLog(_ settings: GatewaySettings, after previous: Generation?) -> AccessLog? {
        if let known = previous?.accessLog { return known }
        return settings.logging.accessLog ? AccessLog(write: StandardOutput.write) : nil
    }

    // MARK: Upstreams

    private static func served(_ settings: Upstream.UpstreamSettings, after previous: Generation?) -> ServedUpstream {
        if let known = previous?.plan.upstreams.first(where: { $0.settings == settings }) { return known }
        let isChecked = settings.healthCheck != nil
        let unhealthy = settings.servers.indices.filter { server in
            isChecked && previous?.isKnownUnhealthy(settings.servers[server].name, of: settings.name) == true
        }
        return ServedUpstream(number: UpstreamNumber.next(), settings: settings, knownUnhealthy: unhealthy)
    }

    /// One for each server of the upstreams that want it; what it finds all loops hear.
    private func checks(_ upstreams: [ServedUpstream], after previous: Generation?) async throws -> [ServerCheck] {
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

    // MARK: Keys of the gateway's own

    /// The service from before has read its file again by then: a rotation by command is followed at once.
    private func assertionKeys(
        _ settings: GatewaySettings, after previous: Generation?
    ) throws -> AssertionKeyService? {
        guard let schedule = Wiring.rotationSchedule(settings) else { return nil }
        let service =
            previous?.plan.assertionKeys
            ?? AssertionKeyService(
                file: KeyRingFile(.assertion, stateDirectory: settings.stateDirectory), schedule: schedule,
                logger: logger, now: { WallClock.seconds() },
                publish: { [directory] in directory.refreshAssertionKeys() })
        try service.follow()
        return service
    }

    /// As ``assertionKeys(_:after:)``.
    private func sessionKeys(_ settings: GatewaySettings, after previous: Generation?) throws -> SessionKeyService? {
        guard let schedule = Wiring.sessionSchedule(settings) else { return nil }
        let service =
            previous?.plan.sessionKeys
            ?? SessionKeyService(
                AssertionKeyService(
                    file: KeyRingFile(.session, stateDirectory: settings.stateDirectory), schedule: schedule,
                    logger: logger, now: { WallClock.seconds() },
                    publish: { [directory] in
                        directory.refreshAssertionKeys()
                        directory.refreshKeySets()
                    }))
        try service.keys.follow()
        return service
    }

    // MARK: Sessions of the gateway's own

    private func userSessions(
        _ settings: GatewaySettings, _ store: Store?, _ revocations: RevocationService?, after previous: Generation?
    ) async throws -> SessionService? {
        guard settings.signIn.apple != nil, let store, let revocations else { return previous?.userSessions }
        return try await SessionService.make(
            settings, store, revocations, logger: logger, after: previous?.userSessions)
    }

    private func sessionEndpoints(
        _ settings: GatewaySettings, _ service: SessionService?, _ keys: SessionKeyService?,
        _ keyServices: [KeySetService], _ conduct: ConductService?, after previous: Generation?
    ) async throws -> SessionEndpoints? {
        guard let apple = settings.signIn.apple, let service,
            let issuerKeys = keyServices.first(where: { $0.issuer.name == apple.issuer }),
            let issuer = Wiring.issuers(settings).first(where: { $0.name == apple.issuer })
        else { return nil }
        let sessions = try keys.flatMap { keys in
            try Wiring.userSessions(
                settings, Wiring.SessionSurroundings(service: service, keys: keys, logger: logger),
                after: previous?.plan.sessions?.sessions)
        }
        let signIn = try await Wiring.appleSignIn(
            settings, apple, issuer,
            Wiring.AppleSurroundings(
                keys: issuerKeys, users: service.users, outbox: conduct?.outbox,
                fetcher: { try await fetcher(plain: $0) }, logger: logger))
        return SessionEndpoints(
            name: sessions?.settings.issuer.issuer ?? issuer.issuer, sessions: sessions, apple: signIn,
            observers: [conduct?.observer].compactMap { $0 })
    }

    // MARK: Accounts

    private func accounts(
        _ settings: GatewaySettings, _ sessions: StoredSessions?, _ revocations: RevocationService?,
        _ conduct: ConductService?, after previous: Generation?
    ) async throws -> [AccountGroup] {
        guard let sessions, let revocations else { return [] }
        return try await Wiring.accounts(
            settings,
            Wiring.AccountSurroundings(
                fetcher: { try await fetcher(plain: $0) }, sessions: sessions,
                observers: [conduct?.observer].compactMap { $0 },
                revoke: { try await revocations.revoke($0) }, logger: logger),
            after: previous?.plan.accounts ?? [])
    }

    /// What carries direct calls out; nil where they are refused.
    private func directCalls(
        _ settings: GatewaySettings, _ conduct: ConductService?, _ revocations: RevocationService?
    ) async throws
        -> DirectCognitoCalls?
    {
        guard settings.directCognito.mode == .translate, let conduct, let revocations else { return nil }
        return DirectCognitoCalls(
            pools: try await Wiring.directPools(settings) { try await fetcher(plain: $0) },
            observers: [conduct.observer], names: conduct.names, revoke: { try await revocations.revoke($0) },
            now: { WallClock.seconds() }, logger: logger)
    }

    /// What limits and tells of account calls.
    private func conduct(
        _ settings: GatewaySettings, _ store: Store?, _ assertionKeys: AssertionKeyService?,
        after previous: Generation?
    ) async throws -> ConductService? {
        guard let store else { return nil }
        return try await ConductService(
            settings,
            ConductService.Surroundings(
                assertionKeys: assertionKeys, store: store, fetcher: { try await fetcher(plain: $0) },
                logger: logger),
            after: previous?.conduct)
    }

    // MARK: The store

    /// Where no tokens are taken there is none, and no state directory.
    private func store(_ settings: GatewaySettings, after previous: Generation?) async throws -> Store? {
        if let known = previous?.store { return known }
        return settings.issuers.isEmpty ? nil : try await GatewayStore.openToServe(in: settings.stateDirectory)
    }

    private func sessions(
        _ settings: GatewaySettings, _ store: Store?, after previous: Generation?
    ) throws -> StoredSessions? {
        if let known = previous?.sessions { return known }
        guard !settings.signIn.pools.isEmpty, let store else { return nil }
        return try StoredSessions(store, isStart: true)
    }

    // MARK: Revocations

    /// Has read all that is kept, so that no revoked token is let in after a restart.
    private func revocations(
        _ settings: GatewaySettings, _ store: Store?, after previous: Generation?
    ) async throws -> RevocationService? {
        guard let store else { return nil }
        let service =
            previous?.plan.revocations
            ?? RevocationService(
                records: StoredRevocations(store),
                maximumCount: settings.limits.revocations, logger: logger, now: { WallClock.seconds() },
                publish: { [directory] in await directory.refreshRevocations() })
        do {
            try await service.follow()
        } catch {
            throw WiringFault(description: "revocations cannot be read: \(error)")
        }
        return service
    }

    // MARK: Issuers

    private func keyServices(
        _ settings: GatewaySettings, _ issuers: [Issuer], _ sessionKeys: SessionKeyService?,
        after previous: Generation?
    ) async throws -> [KeySetService] {
        var services: [KeySetService] = []
        let policies = Wiring.keySetPolicies(settings)
        for (index, issuer) in issuers.enumerated() {
            let namesake = previous?.plan.keyServices.first { $0.issuer.name == issuer.name }
            let configured = settings.issuers[index]
            let wasConfigured = previous?.settings.issuers.first { $0.name == issuer.name }
            // What is accepted beside the keys is the verifier's matter.
            if let namesake, namesake.issuer.issuer == issuer.issuer, namesake.issuer.keySource == issuer.keySource,
                namesake.issuer.algorithms == issuer.algorithms, wasConfigured?.mayFetchAs(configured) == true
            {
                services.append(namesake)
                continue
            }
            services.append(
                KeySetService(
                    issuer: issuer, policy: policies[index],
                    fetcher: try await fetcher(
                        plain: configured.allowsPlainText, privately: configured.allowsPrivateAddresses),
                    file: KeySetFile(directory: settings.stateDirectory, issuer: issuer),
                    configured: try Wiring.configuredKeySet(issuer),
                    own: ownKeys(of: issuer, sessionKeys),
                    counted: namesake?.currentStatus ?? KeySetService.Status(), logger: logger,
                    now: { WallClock.seconds() }, publish: { [directory] _ in directory.refreshKeySets() }))
        }
        return services
    }

    private func ownKeys(of issuer: Issuer, _ keys: SessionKeyService?) -> (@Sendable () -> KeySet?)? {
        guard let keys, issuer.keySource == .own else { return nil }
        return { keys.keySet }
    }
}

extension IssuerSettings {
    /// Whether keys come from the same places for both.
    fileprivate func mayFetchAs(_ other: IssuerSettings) -> Bool {
        allowsPlainText == other.allowsPlainText && allowsPrivateAddresses == other.allowsPrivateAddresses
    }
}
