internal import Accounts
internal import Admin
internal import Clocks
internal import Keys
internal import Sealing
internal import Settings
internal import Store

/// The gateway's own keys in one configuration snapshot.
struct GatewayKeys: Sendable {
    let rings: KeyRings
    /// The services that follow keys shared by several gateways; empty for key files, which are read again at each
    /// reload.
    let shared: SharedKeyServices
    /// The keys for sealing with the gateway's own keys; nil if nothing is sealed with them.
    let sealing: SealingKeyRing?

    var audit: AuditKeyService? { shared.audit }

    func ownSealingKeys() throws -> SealingKeyRing {
        guard let sealing else { throw StartupError(description: "there is no sealing key") }
        return sealing
    }
}

extension SnapshotMaker {
    func ownKeys(
        _ settings: GatewaySettings, _ store: (any StateStore)?, after previous: ConfigurationSnapshot?
    ) async throws -> GatewayKeys {
        let rings = try KeyRings(settings, store)
        // Without a store no tokens are accepted: nothing is sealed, and no user is hashed.
        guard let store else { return GatewayKeys(rings: rings, shared: SharedKeyServices(), sealing: nil) }
        guard rings.isShared else {
            let sealing =
                settings.sealsWithOwnKeys
                ? try await SealingKeys.ring(rings[.sealing], usedBy: .sealingKeys(settings, isShared: false)) : nil
            return GatewayKeys(rings: rings, shared: SharedKeyServices(), sealing: sealing)
        }
        let known = previous?.sharedKeys ?? SharedKeyServices()
        let now = Self.rotationTime(store.records.clock)
        try await readKeys(areHeld: true) { try await known.follow() }
        let sealing =
            settings.sealsWithOwnKeys
            ? try await known.sealing.orMake {
                try await SealingKeyService(
                    rings[.sealing], .sealingKeys(settings, isShared: true), logger: logger, now: now)
            } : nil
        let audit = try await known.audit.orMake {
            try await AuditKeyService(rings[.audit], .auditKeys(isShared: true), logger: logger, now: now)
        }
        return GatewayKeys(
            rings: rings, shared: SharedKeyServices(sealing: sealing, audit: audit), sealing: sealing?.keys)
    }
}

extension Optional where Wrapped: Sendable {
    fileprivate func orMake(_ make: () async throws -> Wrapped) async throws -> Wrapped {
        if let self { return self }
        return try await make()
    }
}
