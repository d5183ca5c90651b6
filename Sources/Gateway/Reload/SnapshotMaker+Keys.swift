internal import Admin
internal import Clocks
internal import HTTPClient
internal import Keys
internal import Logging
internal import Pipeline
internal import Postgres
internal import Proxy
internal import Settings
internal import Store

/// The keys of issuers and the gateway's own keys.
extension SnapshotMaker {
    // MARK: Keys of the gateway's own

    /// Returns the assertion key service; nil if assertions are off. An existing service reads its keys again, so that
    /// a rotation by command takes effect at once.
    func assertionKeys(
        _ settings: GatewaySettings, _ rings: KeyRings, _ clock: (any RecordClock)?,
        after previous: ConfigurationSnapshot?
    ) async throws -> AssertionKeyService? {
        guard let schedule = RotationSchedule.assertionKeys(settings) else { return nil }
        let service =
            previous?.plan.assertionKeys
            ?? AssertionKeyService(
                storage: rings[.assertion], schedule: schedule, logger: logger, now: Self.rotationTime(clock),
                publish: { [directory] in directory.refreshAssertionKeys() })
        try await readKeys(areHeld: service.current != nil) { try await service.follow() }
        return service
    }

    /// Returns the session key service, as ``assertionKeys(_:_:_:after:)``.
    func sessionKeys(
        _ settings: GatewaySettings, _ rings: KeyRings, _ clock: (any RecordClock)?,
        after previous: ConfigurationSnapshot?
    ) async throws -> SessionKeyService? {
        guard let schedule = RotationSchedule.sessionKeys(settings) else { return nil }
        let service =
            previous?.plan.sessionKeys
            ?? SessionKeyService(
                AssertionKeyService(
                    storage: rings[.session], schedule: schedule, logger: logger, now: Self.rotationTime(clock),
                    publish: { [directory] in
                        directory.refreshAssertionKeys()
                        directory.refreshKeySets()
                    }))
        try await readKeys(areHeld: service.keys.current != nil) { try await service.keys.follow() }
        return service
    }

    /// Reads keys. Loaded keys stay in use while the database is unreachable, because an operator may need this reload
    /// just then.
    func readKeys(areHeld: Bool, _ read: () async throws -> Void) async throws {
        do {
            try await read()
        } catch let error as PostgresError where areHeld {
            logger.warning("keys cannot be read at this reload", metadata: ["error": "\(error)"])
        }
    }

    /// The time for key rotation, in seconds since 1970. With a store, its clock is used, so that a temporarily wrong
    /// system clock does not remove keys that are still needed.
    static func rotationTime(_ clock: (any RecordClock)?) -> @Sendable () -> Int64 {
        { [clock] in
            let now = WallClock.seconds()
            return clock?.believedTime(now) ?? now
        }
    }

    // MARK: Issuers

    func keyServices(
        _ settings: GatewaySettings, _ issuers: [Issuer], _ sessionKeys: SessionKeyService?,
        after previous: ConfigurationSnapshot?
    ) async throws -> [KeySetService] {
        var services: [KeySetService] = []
        let policies = Wiring.keySetPolicies(settings)
        for (index, issuer) in issuers.enumerated() {
            let namesake = previous?.plan.keyServices.first { $0.issuer.name == issuer.name }
            let configured = settings.issuers[index]
            let wasConfigured = previous?.settings.issuers.first { $0.name == issuer.name }
            // The key service does not depend on the issuer's other rules.
            if let namesake, namesake.issuer.issuer == issuer.issuer, namesake.issuer.keySource == issuer.keySource,
                namesake.issuer.algorithms == issuer.algorithms, wasConfigured?.mayFetchAs(configured) == true
            {
                services.append(namesake)
                continue
            }
            services.append(
                KeySetService(
                    issuer: issuer, policy: policies[index],
                    fetcher: TracedFetcher(
                        try await fetcher(
                            plain: configured.allowsPlainText, privately: configured.allowsPrivateAddresses),
                        name: "fetch key set", tracing: tracing),
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
    /// Whether both may fetch keys under the same restrictions.
    fileprivate func mayFetchAs(_ other: IssuerSettings) -> Bool {
        allowsPlainText == other.allowsPlainText && allowsPrivateAddresses == other.allowsPrivateAddresses
    }
}
