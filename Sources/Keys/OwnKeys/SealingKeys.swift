internal import Clocks
package import Sealing
package import Settings
internal import Store

/// The keys that refresh tokens are sealed with: configured, or the gateway's own.
package enum SealingKeys {
    /// Those that are configured; nil where none are.
    package static func ring(_ configured: [SealingKeySettings]) throws -> SealingKeyRing? {
        var keys: [SealingKey] = []
        for key in configured { keys.append(try SealingKey(id: key.id, key.key)) }
        return keys.first.map { SealingKeyRing(sealing: $0, opening: Array(keys.dropFirst())) }
    }

    /// The gateway's own, made now if there are none.
    package static func ring(_ storage: any KeyRingStorage) async throws -> SealingKeyRing {
        try SealingKeyRing(try await storage.readOrMake(now: WallClock.seconds()))
    }

    /// The gateway's own of a file, which nothing but commands rotates.
    ///
    /// - Parameter schedule: what the keys are used by from now on.
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
    /// The current key seals. The next one opens already: another gateway may seal with it sooner.
    convenience init(_ ring: KeyRing) throws {
        let current = ring.keys.filter { $0.state == .current }
        let keys = try (current + ring.keys.filter { $0.state != .current }).map { try $0.sealingKey() }
        self.init(sealing: keys[0], opening: Array(keys.dropFirst()))
    }
}
