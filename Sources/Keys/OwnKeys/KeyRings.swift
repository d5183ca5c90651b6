internal import Clocks
package import Sealing
package import Settings
package import Store

/// The storage of the gateway's own keys, by their purpose.
package struct KeyRings: Sendable {
    private let storage: @Sendable (KeyPurpose) -> any KeyRingStorage
    /// Whether several gateways use the same keys.
    package let isShared: Bool
    /// The clock of all gateways, if they share the keys.
    private let clock: (any RecordClock)?

    /// Keys in files of one gateway.
    package init(stateDirectory: String) {
        isShared = false
        clock = nil
        storage = { KeyRingFile($0, stateDirectory: stateDirectory) }
    }

    /// Keys in a database that several gateways share.
    ///
    /// - Parameters:
    ///   - sealingKeys: the keys that seal the rings in the database: the first seals, all open.
    ///   - clock: the clock of all gateways; nil for this machine's.
    package init(
        _ records: any KeyRingRecords, sealedWith sealingKeys: SealingKeyRing, clock: (any RecordClock)? = nil
    ) {
        isShared = true
        self.clock = clock
        storage = { SharedKeyRing($0, records, sealedWith: sealingKeys) }
    }

    /// Selects the storage by the settings. No other code decides this.
    ///
    /// - Parameter store: nil if it is not open.
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

    /// The time of a change that is made now, in seconds since 1970.
    func now() -> Int64 {
        let now = WallClock.seconds()
        return clock?.believedTime(now) ?? now
    }

    /// Returns a function that seals a ring for the database and binds it to its version there.
    ///
    /// - Returns: nil if the keys are in files.
    package func sealer(of ring: KeyRing, for purpose: KeyPurpose) -> (@Sendable (Int64) throws -> KeyRingRecord)? {
        guard let shared = storage(purpose) as? SharedKeyRing else { return nil }
        return { try shared.sealed(ring, version: $0) }
    }

    package subscript(_ purpose: KeyPurpose) -> any KeyRingStorage { storage(purpose) }

    /// The ring of the key for the counters of limits, created now if there is none.
    ///
    /// If there is a key of the audit log already, the first key derives from it, because earlier versions counted with
    /// that.
    package func limits(now: Int64) async throws -> KeyRing {
        let limits = self[.limits]
        if let ring = try await limits.read() { return ring }
        let audit = try await self[.audit].read()?.current?.material
        return try await limits.update { ring in
            if ring == nil { ring = KeyRing(first: try NewKey.limits(from: audit), now: now) }
        }
    }
}
