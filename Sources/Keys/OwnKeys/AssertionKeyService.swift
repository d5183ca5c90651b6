internal import Locking
package import Logging
package import Pipeline
internal import Store

/// The keys that sign assertions or sessions: read from the state directory, rotated there, and given to every event
/// loop.
///
/// Not an actor: it is asked for what it holds from anywhere, and what it does takes no longer than a small file.
package final class AssertionKeyService: Sendable {
    private struct State {
        var schedule: RotationSchedule
        var ring: KeyRing?
        var keys: AssertionKeys?
    }

    /// No longer than this passes until a command's rotation is followed.
    private static let interval = Duration.seconds(60)

    private let file: KeyRingFile
    private let state: Locked<State>
    private let publish: @Sendable () -> Void
    private let now: @Sendable () -> Int64
    private let logger: Logger

    /// - Parameters:
    ///   - publish: called when ``current`` is another one.
    ///   - now: seconds since 1970.
    package init(
        file: KeyRingFile, schedule: RotationSchedule, logger: Logger, now: @escaping @Sendable () -> Int64,
        publish: @escaping @Sendable () -> Void
    ) {
        self.file = file
        self.logger = logger
        self.now = now
        self.publish = publish
        state = Locked(State(schedule: schedule))
    }

    /// When keys are rotated.
    var schedule: RotationSchedule { state.withLock { $0.schedule } }

    /// The keys that sign and are published now. Nil before the first ``follow(_:)``.
    package var current: AssertionKeys? { state.withLock { $0.keys } }

    /// Seconds since 1970 when the signing key began to sign.
    package var signingSince: Int64? { state.withLock { $0.ring?.current?.since } }

    /// Reads the keys, makes them where there are none, and does what is due.
    ///
    /// - Throws: what stands against it; what was in use stays so.
    package func follow() throws {
        let (schedule, held) = state.withLock { ($0.schedule, $0.ring) }
        let ring = try Self.ring(file, schedule, held: held, now: now())
        guard ring != held, let signing = ring.current else { return }
        let keys = AssertionKeys(
            signing: try signing.signingKey(),
            others: try ring.keys.filter { $0.state != .current }.map { try $0.signingKey() })
        state.withLock { ($0.ring, $0.keys) = (ring, keys) }
        // At the start there is none before it.
        if let before = held?.current?.id, before != keys.signing.id {
            logger.info(
                "another key signs", metadata: ["purpose": "\(file.purpose.rawValue)", "kid": "\(keys.signing.id)"])
        }
        publish()
    }

    /// From now on goes by another schedule.
    package func adopt(_ schedule: RotationSchedule) {
        state.withLock { $0.schedule = schedule }
    }

    /// The ring as it is to be now. Nothing is locked or written while nothing is due.
    private static func ring(
        _ file: KeyRingFile, _ schedule: RotationSchedule, held: KeyRing?, now: Int64
    ) throws -> KeyRing {
        let make = { try NewKey.make(for: file.purpose) }
        if let ring = try file.read() {
            var advanced = ring
            guard try advanced.advance(now: now, schedule, for: file.purpose, make: make) else { return ring }
        }
        return try file.update { ring in
            // Keys that verifiers know are not replaced because their file was taken away.
            if ring == nil { ring = try held ?? KeyRing(first: make(), now: now) }
            _ = try ring?.advance(now: now, schedule, for: file.purpose, make: make)
        }
    }

    /// Follows the file and the clock until cancelled.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
            do {
                try follow()
            } catch {
                logger.error(
                    "signing keys could not be read; the current ones stay",
                    metadata: ["purpose": "\(file.purpose.rawValue)", "error": "\(error)"])
            }
        }
    }
}
