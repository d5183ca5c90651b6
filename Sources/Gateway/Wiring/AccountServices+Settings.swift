internal import Accounts
internal import Clocks
internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import Keys
internal import Logging
internal import Pipeline
internal import Sessions
internal import Settings
internal import Store
internal import Telemetry

extension AccountServices {
    /// The dependencies of a service.
    struct Dependencies: Sendable {
        var assertionKeys: AssertionKeyService?
        var keys: GatewayKeys
        var records: GatewayRecords
        /// The destination of audit lines.
        var auditPlace: LogSink
        /// Returns a fetcher, which may fetch without TLS only if `plain` is true.
        var fetcher: @Sendable (_ plain: Bool) async throws -> any Fetcher
        /// Stores the last events for the status page.
        var recent: RecentEvents
        /// Counts calls across reloads.
        var tally: AccountTally
        /// Called for a user whose attributes may have changed; nil if no user attributes are read.
        var attributesChanged: (@Sendable (_ subject: String) async -> Void)?
        var logger: Logger
    }

    /// - Parameter previous: the services in use until now; nil at the start.
    /// - Throws: ``StartupError``, or the error of a key file that cannot be used.
    init(
        _ settings: GatewaySettings, _ dependencies: Dependencies, after previous: AccountServices?
    ) async throws {
        // Made before a new audit key: the first limits key is derived only from an audit key that already existed.
        let (limits, names) = try await Self.limits(settings, dependencies, after: previous)
        let hashes = try await Self.hashes(dependencies.keys)
        let notified = try await Self.receivers(settings, dependencies)
        let receivers = notified + [try await Self.apple(settings, dependencies)].compactMap { $0 }
        let place = dependencies.auditPlace
        let (outbox, auditLog, steps): (Outbox, AuditLog, SignInSteps)
        if let previous {
            (outbox, auditLog, steps) = (previous.outbox, previous.auditLog, previous.steps)
        } else {
            let records = dependencies.records
            outbox = Outbox(
                records: records.outbox, logger: dependencies.logger,
                now: records.milliseconds { WallClock.milliseconds() })
            auditLog = AuditLog(AuditEncoder(hashes, place.format), write: place.write)
            steps = SignInSteps { WallClock.seconds() }
        }
        let makeKey: @Sendable () -> String = { Hexadecimal.encode(SecureRandom.bytes(16)) }
        let audit = AuditTrail(
            log: settings.audit.log == .off ? nil : auditLog, recent: dependencies.recent,
            webhook: settings.audit.webhook.map { [outbox, hashes] webhook in
                AuditTrail.Webhook(
                    destination: Self.webhookName,
                    events: Set(webhook.events), outbox: outbox,
                    hashes: hashes, makeKey: makeKey)
            })
        let sync = Self.userSync(
            settings.userSync, notified, outbox, dependencies.logger, makeKey)
        self.init(
            limits: limits, outbox: outbox, auditLog: auditLog, steps: steps,
            directSessions: previous?.directSessions
                ?? DirectSessions(records: dependencies.records.directSessions, now: dependencies.records.time),
            names: names,
            passwordChanges: previous?.passwordChanges ?? Self.passwordChanges(dependencies.records), audit: audit,
            sync: sync, tally: dependencies.tally, limitSettings: settings.accountLimits, receivers: receivers,
            attributesChanged: dependencies.attributesChanged, hashes: hashes, place: place)
    }

    /// Returns the limits and account names. Both survive reloads, so their key is read only once.
    private static func limits(
        _ settings: GatewaySettings, _ dependencies: Dependencies, after previous: AccountServices?
    ) async throws -> (AccountLimits, AccountNames) {
        if let previous { return (previous.limits, previous.names) }
        let key = try await limitsKey(dependencies.keys.rings)
        let limits = try await limits(settings.accountLimits, key, dependencies.records, dependencies.logger)
        return (limits, names(key, dependencies))
    }

    private static func names(_ key: Secret, _ dependencies: Dependencies) -> AccountNames {
        AccountNames(
            key: key, records: dependencies.records.sessions, logger: dependencies.logger,
            now: dependencies.records.time)
    }

    private static func passwordChanges(_ records: GatewayRecords) -> PasswordChanges {
        PasswordChanges(records.passwordChanges, now: records.time, random: { SecureRandom.bytes($0) })
    }

    private static func userSync(
        _ settings: UserSyncSettings?, _ receivers: [WebhookReceiver], _ outbox: Outbox, _ logger: Logger,
        _ makeKey: @escaping @Sendable () -> String
    ) -> UserSync? {
        guard let settings, let receiver = receivers.first(where: { $0.name == UserSync.destination }) else {
            return nil
        }
        return UserSync(
            receiver: receiver, outbox: outbox, events: Set(settings.events), isRequired: settings.mode == .required,
            asksForUser: settings.responds, logger: logger, makeKey: makeKey)
    }

    private static let webhookName = "audit_webhook"

    /// Returns the user hashes. Their key is stored, so that hashes stay comparable.
    private static func hashes(_ keys: GatewayKeys) async throws -> UserHashes {
        if let shared = keys.audit { return shared.hashes }
        let ring = try await keys.rings[.audit].readOrMake(now: WallClock.seconds())
        guard let key = ring.current else { throw StartupError(description: "there is no audit key") }
        return UserHashes(key: key.material)
    }

    /// Returns the limits key. It differs from the audit key, so that a rotation of that one ends no account lock.
    private static func limitsKey(_ rings: KeyRings) async throws -> Secret {
        let ring = try await rings.limits(now: WallClock.seconds())
        guard let key = ring.current else { throw StartupError(description: "there is no key for limits") }
        return key.material
    }

    /// Returns the limits after all stored counts have been read, so that a restart grants no further attempts.
    private static func limits(
        _ settings: AccountLimitSettings, _ key: Secret, _ records: GatewayRecords, _ logger: Logger
    ) async throws -> AccountLimits {
        let steady = WallClock.steadyMilliseconds()
        var stored = records.limits
        // Shared limits use the shared clock instead.
        if !stored.areShared {
            stored = TimeOfDayLimits(stored, steady: steady) { WallClock.milliseconds() }
        }
        let limits = AccountLimits(
            settings: settings, key: key, records: stored, logger: logger, now: records.milliseconds(steady))
        do {
            try await limits.load()
        } catch {
            throw StartupError(description: "counted account calls cannot be read: \(error)")
        }
        return limits
    }

    /// Returns the receiver that revokes grants at Apple; nil if the gateway does not call Apple.
    private static func apple(
        _ settings: GatewaySettings, _ dependencies: Dependencies
    ) async throws -> (any OutboxReceiver)? {
        guard let server = settings.signIn.apple?.server else { return nil }
        let fetcher = try await dependencies.fetcher(server.endpoint.isPlain)
        return AppleRevocationReceiver(
            timeout: server.timeout,
            revoker: AppleRevoker(
                client: try Wiring.appleClient(server, fetcher),
                sealingKeys: try dependencies.keys.ownSealingKeys(),
                logger: dependencies.logger))
    }

    private static func receivers(
        _ settings: GatewaySettings, _ dependencies: Dependencies
    ) async throws -> [WebhookReceiver] {
        let assertion = settings.identity.assertion?.assertion
        var receivers: [WebhookReceiver] = []
        if let webhook = settings.audit.webhook {
            receivers.append(
                WebhookReceiver(
                    name: webhookName, url: webhook.url.description, audience: webhook.url.description,
                    secret: webhook.secret, timeout: webhook.timeout, issuer: assertion?.issuer,
                    header: assertion?.header ?? "", keys: dependencies.assertionKeys,
                    fetcher: try await dependencies.fetcher(webhook.url.isPlain)))
        }
        if let sync = settings.userSync {
            receivers.append(
                WebhookReceiver(
                    name: UserSync.destination, url: sync.url.description, audience: sync.audience,
                    timeout: sync.timeout, issuer: assertion?.issuer, header: assertion?.header ?? "",
                    keys: dependencies.assertionKeys, fetcher: try await dependencies.fetcher(sync.url.isPlain)))
        }
        return receivers
    }
}
