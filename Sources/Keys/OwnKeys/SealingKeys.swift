internal import Clocks
package import Sealing
package import Settings
internal import Store

/// The keys that seal refresh tokens: configured, or the gateway's own.
package enum SealingKeys {
    /// The configured keys; nil if there are none.
    package static func ring(_ configured: [SealingKeySettings]) throws -> SealingKeyRing? {
        var keys: [SealingKey] = []
        for key in configured { keys.append(try SealingKey(id: key.id, key.key)) }
        return keys.first.map { SealingKeyRing(sealing: $0, opening: Array(keys.dropFirst())) }
    }

    /// The gateway's own keys, created now if there are none.
    package static func ring(_ storage: any KeyRingStorage) async throws -> SealingKeyRing {
        try SealingKeyRing(try await storage.readOrMake(now: WallClock.seconds()))
    }

    /// The gateway's own keys in a file, which only commands rotate.
    ///
    /// - Parameter schedule: the schedule by which the keys are used from now on.
    package static func ring(
        _ storage: any KeyRingStorage, usedBy schedule: RotationSchedule
    ) async throws -> SealingKeyRing {
        let now = WallClock.seconds()
        let ring = try await storage.update { ring in
            var used = try ring ?? KeyRing(first: NewKey.make(for: .sealing), now: now)
            used.use(by: schedule)
            ring = used
        }
        return try SealingKeyRing(ring)
    }
}

extension SealingKeyRing {
    /// The current key seals. The next one already opens, because another gateway may seal with it earlier.
    convenience init(_ ring: KeyRing) throws {
        let current = ring.keys.filter { $0.state == .current }
        let keys = try (current + ring.keys.filter { $0.state != .current }).map { try $0.sealingKey() }
        self.init(sealing: keys[0], opening: Array(keys.dropFirst()))
    }
}
