internal import Locking
package import Logging
package import Pipeline
internal import Store

/// The keys that sign assertions or sessions. It follows their storage and passes them to every event loop.
///
/// Not an actor: its values are read from anywhere.
package final class AssertionKeyService: Sendable {
    private let keys: CurrentKeys
    private let followed: FollowedKeyRing

    /// The current keys, which ``FollowedKeyRing`` updates.
    private final class CurrentKeys: Sendable {
        let value = Locked<AssertionKeys?>(nil)
    }

    /// - Parameters:
    ///   - publish: called when ``current`` changes.
    ///   - now: seconds since 1970.
    package init(
        storage: any KeyRingStorage, schedule: RotationSchedule, logger: Logger,
        now: @escaping @Sendable () -> Int64, publish: @escaping @Sendable () -> Void
    ) {
        let current = CurrentKeys()
        keys = current
        let purpose = storage.purpose
        followed = FollowedKeyRing(storage, schedule, logger: logger, now: now) { ring, before in
            guard let signing = ring.current else { return }
            let keys = AssertionKeys(
                signing: try signing.signingKey(),
                others: try ring.keys.filter { $0.state != .current }.map { try $0.signingKey() })
            current.value.withLock { $0 = keys }
            // At the start there is no previous key.
            if let before = before?.current?.id, before != keys.signing.id {
                logger.info(
                    "another key signs", metadata: ["purpose": "\(purpose.rawValue)", "kid": "\(keys.signing.id)"])
            }
            publish()
        }
    }

    /// The schedule of key rotations.
    var schedule: RotationSchedule { followed.schedule }

    /// The keys that sign and are published now; nil before the first ``follow()``.
    package var current: AssertionKeys? { keys.value.withLock { $0 } }

    /// The time at which the signing key began to sign, in seconds since 1970.
    package var signingSince: Int64? { followed.ring?.current?.since }

    /// The error of the last reading of the keys; nil if it succeeded.
    package var error: String? { followed.error }

    /// Reads the keys, creates them if there are none, and performs what is due.
    ///
    /// - Throws: the error that prevents it; the keys in use remain.
    package func follow() async throws { try await followed.follow() }

    /// Replaces the schedule from now on.
    package func adopt(_ schedule: RotationSchedule) { followed.adopt(schedule) }

    /// Follows the stored keys and the clock until cancelled.
    package func run() async { await followed.run() }
}
