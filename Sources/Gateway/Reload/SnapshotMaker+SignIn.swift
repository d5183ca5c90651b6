internal import Accounts
internal import Admin
internal import Clocks
internal import Cognito
internal import Cryptography
internal import Keys
internal import Pipeline
internal import Proxy
internal import Sessions
internal import Settings
internal import Store
internal import Telemetry

/// Account endpoints and the gateway's own sessions.
extension SnapshotMaker {
    // MARK: Sessions of the gateway's own

    func sessionEnds(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ revocations: RevocationService?,
        after previous: ConfigurationSnapshot?
    ) async throws -> SessionEnds? {
        guard settings.signIn.apple != nil, let records, let revocations else { return previous?.sessionEnds }
        return try await SessionEnds.make(
            settings, records.users, revocations, logger: logger, now: records.time, after: previous?.sessionEnds)
    }

    func sessionEndpoints(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ ends: SessionEnds?, _ keys: SessionKeyService?,
        _ ownKeys: GatewayKeys, _ keyServices: [KeySetService], _ accountServices: AccountServices?,
        after previous: ConfigurationSnapshot?
    ) async throws -> SessionEndpoints? {
        guard let apple = settings.signIn.apple, let records, let ends, let accountServices,
            let issuerKeys = keyServices.first(where: { $0.issuer.name == apple.issuer }),
            let issuer = settings.trustedIssuers.first(where: { $0.name == apple.issuer })
        else { return nil }
        let sealingKeys = try ownKeys.ownSealingKeys()
        let sessions = keys.flatMap { keys in
            Wiring.userSessions(
                settings,
                Wiring.SessionDependencies(
                    users: records.users, ends: ends, keys: keys, time: records.time, sealingKeys: sealingKeys,
                    logger: logger),
                after: previous?.plan.sessions?.sessions)
        }
        let signIn = try await Wiring.appleSignIn(
            settings, apple, issuer,
            Wiring.AppleDependencies(
                keys: issuerKeys, records: records.users, sealingKeys: sealingKeys,
                shared: try Wiring.sharedValues(settings, records, ownKeys), time: records.time,
                outbox: accountServices.outbox,
                previous: previous?.plan.sessions?.apple,
                fetcher: { try await tracedFetcher(plain: $0) }, logger: logger))
        return SessionEndpoints(
            name: sessions?.issuer.issuer ?? issuer.issuer, sessions: sessions, apple: signIn,
            flow: accountServices.accountFlow)
    }

    // MARK: Accounts

    func accounts(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ revocations: RevocationService?,
        _ ownKeys: GatewayKeys, _ keyServices: [KeySetService], _ accountServices: AccountServices?,
        after previous: ConfigurationSnapshot?
    ) async throws -> [AccountGroup] {
        guard let records, let revocations, let accountServices else { return [] }
        return try await Wiring.accounts(
            settings,
            Wiring.AccountDependencies(
                fetcher: { try await tracedFetcher(plain: $0) },
                sealingKeys: { try ownKeys.ownSealingKeys() }, sessions: records.sessions, codes: records.codes,
                passwordChanges: accountServices.passwordChanges,
                time: records.time, flow: accountServices.accountFlow,
                tokenCheck: { tokenCheck(of: $0, settings, keyServices, after: previous) },
                revoke: { try await revocations.revoke($0) },
                isRevoked: { revocations.current.revokes($0) }, hasUnstored: { revocations.hasUnstored },
                revocationTime: revocations.revocationTime, logger: logger),
            after: previous?.plan.accounts ?? [])
    }

    /// Returns the check of a pool's tokens with the issuer's keys and rules. The previous check is kept if neither
    /// these nor the pool have changed.
    private func tokenCheck(
        of pool: CognitoSettings, _ settings: GatewaySettings, _ keyServices: [KeySetService],
        after previous: ConfigurationSnapshot?
    ) -> SignInTokenCheck? {
        guard let keys = keyServices.first(where: { $0.issuer.name == pool.issuer }),
            let issuer = settings.trustedIssuers.first(where: { $0.name == pool.issuer })
        else { return nil }
        let known = previous?.plan.accounts.flatMap(\.members).map(\.accounts).first {
            $0.settings.clientID == pool.signIn.clientID && $0.settings.endpoint == pool.signIn.endpoint
        }
        if let check = known?.tokenCheck, check.issuer == issuer.name,
            previous?.settings.trustedIssuers.contains(issuer) == true,
            previous?.plan.keyServices.contains(where: { $0 === keys }) == true,
            previous?.settings.limits.tokenBytes == settings.limits.tokenBytes
        {
            return check
        }
        let verifier = FetchingVerifier(
            TokenVerifier(issuers: [issuer], maximumTokenBytes: settings.limits.tokenBytes), services: [keys])
        return SignInTokenCheck(issuer: issuer.name, clientID: pool.signIn.clientID, logger: logger) { token in
            // Apps authenticate with access tokens; the account endpoints accept no others.
            let finding = await verifier.examine(
                token.expose(), accepting: TokenAcceptance(tokenUses: [.access]), now: WallClock.seconds())
            return switch finding {
            case .verified: .accepted
            case .rejected(let reason, let differences): .refused(reason, differences)
            case .keysUnavailable: .undecided
            }
        }
    }

    /// Returns the service that reads user attributes; nil if none are configured.
    func userAttributes(
        _ settings: GatewaySettings, after previous: ConfigurationSnapshot?
    ) async throws -> UserAttributeService? {
        guard let wanted = settings.identity.userAttributes else { return nil }
        let endpoint = wanted.endpoint(settings.signIn.pools)
        let values = UserAttributeService.Settings(
            rule: wanted.rule, endpoint: endpoint.description, timeout: wanted.timeout)
        if let known = previous?.plan.userAttributes, known.settings == values { return known }
        let client = CognitoClient(
            endpoint: values.endpoint, fetcher: try await tracedFetcher(plain: endpoint.isPlain),
            deadline: values.timeout)
        return UserAttributeService(
            values, client: client, tally: accountTally.userAttributes, now: { WallClock.seconds() }, logger: logger)
    }

    /// The service that carries out direct calls; nil if they are refused.
    func directCalls(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ ownKeys: GatewayKeys,
        _ keyServices: [KeySetService], _ accountServices: AccountServices?, _ revocations: RevocationService?,
        _ accounts: [AccountGroup]
    ) async throws -> DirectCognitoCalls? {
        guard settings.directCognito.mode == .translate, let records, let accountServices, let revocations else {
            return nil
        }
        return DirectCognitoCalls(
            pools: try await Wiring.directPools(settings, keyServices: keyServices) {
                try await tracedFetcher(plain: $0)
            },
            flow: accountServices.accountFlow, steps: accountServices.steps,
            sessions: accountServices.directSessions,
            shared: try Wiring.sharedValues(settings, records, ownKeys),
            revoke: { try await revocations.revoke($0) }, accounts: accounts.flatMap(\.members).map(\.accounts),
            forget: { try await records.sessions.forget(subject: $0, poolID: $1) },
            revocations: { revocations.current }, revocationTime: revocations.revocationTime,
            logger: logger)
    }

    /// The limits and the audit of account calls.
    func accountServices(
        _ settings: GatewaySettings, _ records: GatewayRecords?, _ assertionKeys: AssertionKeyService?,
        _ ownKeys: GatewayKeys, _ places: LogSinks, _ userAttributes: UserAttributeService?,
        after previous: ConfigurationSnapshot?
    ) async throws -> AccountServices? {
        guard let records else { return nil }
        let attributesChanged = userAttributes.map { [directory] service in
            { @Sendable (subject: String) async in
                await service.forget(subject)
                await directory.forgetTokens(of: subject)
            }
        }
        return try await AccountServices(
            settings,
            AccountServices.Dependencies(
                assertionKeys: assertionKeys, keys: ownKeys, records: records, auditPlace: places.audit,
                fetcher: { try await tracedFetcher(plain: $0) }, recent: recent, tally: accountTally,
                attributesChanged: attributesChanged, logger: logger),
            after: previous?.accountServices)
    }
}
