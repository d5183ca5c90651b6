internal import Locking
package import Logging
package import Pipeline
internal import Store

/// The keys that sign assertions or sessions: followed where they are stored, and given to every event loop.
///
/// Not an actor: it is asked for what it holds from anywhere.
package final class AssertionKeyService: Sendable {
    private let keys: CurrentKeys
    private let followed: FollowedKeyRing

    /// The value that ``FollowedKeyRing`` hands over.
    private final class CurrentKeys: Sendable {
        let value = Locked<AssertionKeys?>(nil)
    }

    /// - Parameters:
    ///   - publish: called when ``current`` is another one.
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
            // At the start there is none before it.
            if let before = before?.current?.id, before != keys.signing.id {
                logger.info(
                    "another key signs", metadata: ["purpose": "\(purpose.rawValue)", "kid": "\(keys.signing.id)"])
            }
            publish()
        }
    }

    /// When keys are rotated.
    var schedule: RotationSchedule { followed.schedule }

    /// The keys that sign and are published now. Nil before the first ``follow()``.
    package var current: AssertionKeys? { keys.value.withLock { $0 } }

    /// Seconds since 1970 when the signing key began to sign.
    package var signingSince: Int64? { followed.ring?.current?.since }

    /// Why the keys could not be read last; nil while all is well.
    package var error: String? { followed.error }

    /// Reads the keys, makes them where there are none, and does what is due.
    ///
    /// - Throws: what stands against it; what was in use stays so.
    package func follow() async throws { try await followed.follow() }

    /// From now on goes by another schedule.
    package func adopt(_ schedule: RotationSchedule) { followed.adopt(schedule) }

    /// Follows the stored keys and the clock until cancelled.
    package func run() async { await followed.run() }
}
