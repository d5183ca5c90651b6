package import Keys
package import Logging
internal import Store
package import Telemetry

/// The key of users' hashes, which several gateways share; follows the stored key.
package final class AuditKeyService: Sendable {
    package let hashes: UserHashes
    private let followed: FollowedKeyRing

    /// Reads the key, and creates it if there is none.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: an error if the key cannot be read or created.
    package init(
        _ storage: any KeyRingStorage, _ schedule: RotationSchedule, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) async throws {
        guard let first = try await storage.readOrMake(now: now()).current else {
            throw StartupError(description: "there is no audit key")
        }
        let hashes = UserHashes(key: first.material)
        self.hashes = hashes
        followed = FollowedKeyRing(storage, schedule, logger: logger, now: now) { ring, before in
            guard let key = ring.current, key.id != (before?.current ?? first).id else { return }
            hashes.adopt(key: key.material)
            logger.info("another key hashes users", metadata: ["kid": "\(key.id)"])
        }
        try await followed.follow()
    }

    /// The error of the last attempt to read the key; nil if it succeeded.
    package var error: String? { followed.error }

    /// Reads the key again.
    ///
    /// - Throws: the error; the key in use stays.
    package func follow() async throws { try await followed.follow() }

    /// Follows the stored key until cancelled.
    package func run() async { await followed.run() }
}
