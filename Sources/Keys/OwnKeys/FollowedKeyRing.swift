internal import Locking
package import Logging
internal import Store

/// The keys of one purpose while a gateway runs: read, created if there are none, rotated when due, and read again when
/// another process may have changed them.
package final class FollowedKeyRing: Sendable {
    private struct State {
        var schedule: RotationSchedule
        var ring: KeyRing?
        var error: String?
        /// The last call of ``follow()``. Each begins when the previous one has ended, so that none restores old keys.
        var last: Task<Void, any Error>?
    }

    private let storage: any KeyRingStorage
    private let state: Locked<State>
    private let now: @Sendable () -> Int64
    private let use: @Sendable (_ ring: KeyRing, _ before: KeyRing?) throws -> Void
    private let fellBehind: @Sendable (Bool) -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - use: called with a ring that differs from the previous one. Its errors are thrown by ``follow()``, and the
    ///     previous ring remains.
    ///   - fellBehind: called after each reading with whether it failed, in which case others may have changed the
    ///     keys.
    package init(
        _ storage: any KeyRingStorage, _ schedule: RotationSchedule, logger: Logger,
        now: @escaping @Sendable () -> Int64,
        use: @escaping @Sendable (_ ring: KeyRing, _ before: KeyRing?) throws -> Void,
        fellBehind: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.storage = storage
        self.logger = logger
        self.now = now
        self.use = use
        self.fellBehind = fellBehind
        state = Locked(State(schedule: schedule))
    }

    var purpose: KeyPurpose { storage.purpose }

    /// The schedule of key rotations.
    var schedule: RotationSchedule { state.withLock { $0.schedule } }

    /// Nil before the first ``follow()``.
    var ring: KeyRing? { state.withLock { $0.ring } }

    /// The error of the last reading; nil if it succeeded.
    package var error: String? { state.withLock { $0.error } }

    /// Replaces the schedule from now on.
    package func adopt(_ schedule: RotationSchedule) {
        state.withLock { $0.schedule = schedule }
    }

    /// Reads the keys, creates them if there are none, and performs what is due.
    ///
    /// - Throws: the error that prevents it; the keys in use remain.
    package func follow() async throws {
        let task = state.withLock { state in
            let task = Task { [last = state.last] in
                _ = await last?.result
                do {
                    try await self.step()
                    self.end(with: nil)
                } catch {
                    self.end(with: error)
                    throw error
                }
            }
            state.last = task
            return task
        }
        try await task.value
    }

    private func end(with error: (any Error)?) {
        state.withLock { $0.error = error.map { "\($0)" } }
        fellBehind(error != nil)
    }

    private func step() async throws {
        let (schedule, held) = state.withLock { ($0.schedule, $0.ring) }
        let ring = try await stored(schedule, held: held)
        guard ring != held else { return }
        try use(ring, held)
        state.withLock { $0.ring = ring }
    }

    /// The ring after all due changes. Nothing is locked or written if nothing is due.
    private func stored(_ schedule: RotationSchedule, held: KeyRing?) async throws -> KeyRing {
        let purpose = purpose
        let now = now()
        let make: @Sendable () throws -> NewKey = { try NewKey.make(for: purpose) }
        if let ring = try await storage.read() {
            var advanced = ring
            guard try advanced.advance(now: now, schedule, for: purpose, make: make) else { return ring }
        }
        return try await storage.update { ring in
            // Keys that verifiers know are not replaced because their file was removed.
            if ring == nil { ring = try held ?? KeyRing(first: make(), now: now) }
            _ = try ring?.advance(now: now, schedule, for: purpose, make: make)
        }
    }

    /// Follows the stored keys and the clock until cancelled.
    package func run() async {
        let interval = Self.interval(isShared: storage.isShared)
        var failures: Int64 = 0
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: .seconds(interval))
            } catch {
                return
            }
            do {
                try await follow()
                failures = 0
            } catch {
                // One line a minute, however often it is tried.
                if failures * interval % Self.fileInterval == 0 {
                    logger.error(
                        "\(purpose.publishesKeys ? "signing keys" : "keys") could not be read; the current ones stay",
                        metadata: ["purpose": "\(purpose.rawValue)", "error": "\(error)"])
                }
                failures += 1
            }
        }
    }

    /// The seconds between readings: the maximum delay until another process's rotation is followed.
    static func interval(isShared: Bool) -> Int64 { isShared ? sharedInterval : fileInterval }

    private static let fileInterval: Int64 = 60
    private static let sharedInterval: Int64 = 10
}
