internal import Clocks
package import Sealing
package import Settings
package import Store

/// Where the gateway's own keys are, by their purpose.
package struct KeyRings: Sendable {
    private let storage: @Sendable (KeyPurpose) -> any KeyRingStorage
    /// Whether several gateways use the same keys.
    package let isShared: Bool
    /// That of all gateways, where they share the keys.
    private let clock: (any RecordClock)?

    /// Keys in files, of one gateway.
    package init(stateDirectory: String) {
        isShared = false
        clock = nil
        storage = { KeyRingFile($0, stateDirectory: stateDirectory) }
    }

    /// Keys in a database, of several gateways.
    ///
    /// - Parameters:
    ///   - sealingKeys: seal the keys in the database: the first seals, all open.
    ///   - clock: that of all gateways; nil: this machine's.
    package init(
        _ records: any KeyRingRecords, sealedWith sealingKeys: SealingKeyRing, clock: (any RecordClock)? = nil
    ) {
        isShared = true
        self.clock = clock
        storage = { SharedKeyRing($0, records, sealedWith: sealingKeys) }
    }

    /// The one place that decides where the keys are.
    ///
    /// - Parameter store: nil where it is not open.
    package init(_ settings: GatewaySettings, _ store: (any StateStore)?) throws {
        guard let state = settings.state?.postgres, let records = store?.keyRings else {
            self.init(stateDirectory: settings.stateDirectory)
            return
        }
        let keys = try state.sealingKeys.map { try SealingKey(id: $0.id, $0.key) }
        self.init(
            records, sealedWith: SealingKeyRing(sealing: keys[0], opening: Array(keys.dropFirst())),
            clock: store?.records.clock)
    }

    /// Seconds since 1970 at which a change happens now.
    func now() -> Int64 {
        let now = WallClock.seconds()
        return clock?.believedTime(now) ?? now
    }

    /// Seals a ring for the database, in which its version is bound to it.
    ///
    /// - Returns: nil where the keys are in files.
    package func sealer(of ring: KeyRing, for purpose: KeyPurpose) -> (@Sendable (Int64) throws -> KeyRingRecord)? {
        guard let shared = storage(purpose) as? SharedKeyRing else { return nil }
        return { try shared.sealed(ring, version: $0) }
    }

    package subscript(_ purpose: KeyPurpose) -> any KeyRingStorage { storage(purpose) }

    /// The ring of the key that limits count by, made now if there is none.
    ///
    /// Where there is a key of the audit log already, the first one comes of that: with it earlier versions have
    /// counted.
    package func limits(now: Int64) async throws -> KeyRing {
        let limits = self[.limits]
        if let ring = try await limits.read() { return ring }
        let audit = try await self[.audit].read()?.current?.material
        return try await limits.update { ring in
            if ring == nil { ring = KeyRing(first: try NewKey.limits(from: audit), now: now) }
        }
    }
}
