internal import Clocks
package import Sealing
package import Settings
internal import Store

/// The keys that refresh tokens are sealed with: configured, or made once in the state directory.
package enum SealingKeys {
    package static func ring(_ configured: [SealingKeySettings], stateDirectory: String) throws -> SealingKeyRing {
        var keys: [SealingKey] = []
        for key in configured { keys.append(try SealingKey(id: key.id, key.key)) }
        if keys.isEmpty {
            let stored = try KeyRingFile(.sealing, stateDirectory: stateDirectory).readOrMake(now: WallClock.seconds())
            // The current one comes first: keys that are not published have no next.
            keys = try stored.keys.map { try $0.sealingKey() }
        }
        return SealingKeyRing(sealing: keys[0], opening: Array(keys.dropFirst()))
    }
}
