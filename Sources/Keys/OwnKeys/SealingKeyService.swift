package import Logging
package import Sealing
internal import Store

/// The sealing keys that several gateways share. It follows their storage while they are in use.
package final class SealingKeyService: Sendable {
    package let keys: SealingKeyRing
    private let followed: FollowedKeyRing

    /// Reads the keys, and creates them if there are none.
    ///
    /// - Parameter now: seconds since 1970.
    package init(
        _ storage: any KeyRingStorage, _ schedule: RotationSchedule, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) async throws {
        let keys = try await SealingKeys.ring(storage)
        self.keys = keys
        followed = FollowedKeyRing(
            storage, schedule, logger: logger, now: now,
            use: { ring, before in
                keys.adopt(try SealingKeyRing(ring))
                if let before = before?.current?.id, let id = ring.current?.id, before != id {
                    logger.info("another key seals", metadata: ["kid": "\(id)"])
                }
            }, fellBehind: { keys.setBehind($0) })
        try await followed.follow()
    }

    /// The error of the last reading of the keys; nil if it succeeded.
    package var error: String? { followed.error }

    /// Reads the keys, and performs what is due.
    ///
    /// - Throws: the error that prevents it; the keys in use remain.
    package func follow() async throws { try await followed.follow() }

    /// Replaces the schedule from now on.
    package func adopt(_ schedule: RotationSchedule) { followed.adopt(schedule) }

    /// Follows the stored keys and the clock until cancelled.
    package func run() async { await followed.run() }
}
