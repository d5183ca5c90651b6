internal import Clocks
internal import Locking
package import Logging
package import Pipeline
package import Store

/// The reason that tokens were not revoked.
enum RevocationError: Error, Equatable {
    /// The maximum number of revocations is reached.
    case full
}

/// The revocation list, which is stored in the store and passed to every event loop.
package actor RevocationService {
    /// For metrics.
    package struct Status: Sendable {
        package var count = 0
        package var limit = 0
        /// The number of sessions with superseded tokens.
        package var superseded = 0
        /// The number of revocations that were refused or could not be stored.
        package var failures = 0
        /// Seconds since the list was last known to be complete.
        package var age: Int64 = 0
        /// Whether it is so old that no token is accepted.
        package var isTooOld = false
        /// Whether other gateways have the same list.
        package var isShared = false
        /// The way in which changes by others are detected.
        package var notice = ChangeNotice.poll
    }

    struct State {
        var list = RevocationList.empty
        var failures = 0
        /// The number of calls whose revocations are only in memory because the store failed.
        var failedCalls = 0
        /// The number of these calls, from the first on, whose revocations have since been stored.
        var storedCalls = 0
        /// The time at which the list was last known to be complete, in seconds of the monotonic clock.
        var readAt: Int64
        /// The position up to which the list has been read.
        var position: ChangePosition?
    }

    /// An observer of the list.
    struct Observer: Sendable {
        /// Called after a reading that returned revocations.
        var hasRead: @Sendable () -> Void = {}
    }

    let records: any RevocationRecords
    let changes: any RevocationChanges
    let publish: @Sendable () async -> Void
    /// The time by which tokens are revoked, in seconds since 1970.
    package nonisolated let revocationTime: @Sendable () -> Int64
    let now: @Sendable () -> Int64
    let uptime: @Sendable () -> Int64
    let logger: Logger
    var tidiedAt: Int64
    /// Whether the next reading is of the whole list, because changes may have been missed or may be missing in the
    /// store.
    var needsWhole = true
    var lastFailure: String?
    /// Whether the last attempt to store missing revocations failed.
    var cannotStore = false
    nonisolated let staleness: Locked<RevocationStaleness?>
    private nonisolated let limit: Locked<Int>
    nonisolated let state: Locked<State>
    nonisolated let observer = Locked(Observer())

    /// The current revocations, readable from anywhere.
    package nonisolated var current: RevocationList { state.withLock { $0.list } }
    package nonisolated var status: Status {
        state.withLock { state in
            Status(
                count: state.list.count, limit: maximumCount, superseded: state.list.supersededCount,
                failures: state.failures, age: max(0, uptime() - state.readAt), isTooOld: state.list.isTooOld,
                isShared: changes.isShared, notice: changes.notice)
        }
    }
    /// Whether some revocations could not be stored. They are stored as soon as that succeeds.
    package nonisolated var hasUnstored: Bool { state.withLock { $0.failedCalls > $0.storedCalls } }
    /// The position up to which the list has been read, and the seconds since then; nil if the list is not shared by
    /// several gateways.
    package nonisolated var standing: (position: ChangePosition, age: Int64)? {
        guard changes.isShared else { return nil }
        return state.withLock { state in
            state.position.map { (position: $0, age: max(0, uptime() - state.readAt)) }
        }
    }

    /// - Parameters:
    ///   - maximumCount: the maximum number of revocations; more are refused.
    ///   - publish: returns when every event loop uses ``current``.
    ///   - now: the time by which ended revocations may be forgotten, in seconds since 1970.
    ///   - revocationTime: the time by which tokens are revoked, likewise.
    ///   - staleness: nil if the list is never too old.
    ///   - uptime: seconds of a monotonic clock.
    package init(
        records: any RevocationRecords, maximumCount: Int, logger: Logger, now: @escaping @Sendable () -> Int64,
        revocationTime: @escaping @Sendable () -> Int64, staleness: RevocationStaleness? = nil,
        uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() },
        publish: @escaping @Sendable () async -> Void
    ) {
        self.records = records
        changes = records.changes
        self.staleness = Locked(staleness)
        self.uptime = uptime
        let began = uptime()
        state = Locked(State(readAt: began))
        tidiedAt = began
        limit = Locked(maximumCount)
        self.logger = logger
        self.now = now
        self.revocationTime = revocationTime
        self.publish = publish
    }

    /// The maximum number of revocations.
    private nonisolated var maximumCount: Int { limit.withLock { $0 } }

    /// Applies at once, so that of two reloads the later one wins.
    package nonisolated func adopt(maximumCount: Int) {
        limit.withLock { $0 = maximumCount }
    }

    /// Applies at once; the list is judged by it within a second.
    package nonisolated func adopt(_ staleness: RevocationStaleness?) {
        self.staleness.withLock { $0 = staleness }
    }

    /// Calls `body` after each further reading that returns revocations.
    package nonisolated func afterReading(_ body: @escaping @Sendable () -> Void) {
        observer.withLock { $0 = Observer(hasRead: body) }
    }

    /// The maximum number of sessions with superseded tokens, which never take the room of revocations.
    package nonisolated var room: Int {
        max(0, min(maximumCount / 2, maximumCount - current.count))
    }

    /// Invalidates tokens that newer ones have replaced. This is not stored.
    package func supersede(_ tokens: [SupersededTokens]) async {
        let room = room
        state.withLock { $0.list = $0.list.superseding(tokens, limit: room) }
        await publish()
    }

    /// Revokes tokens. When this returns, the revocations survive a loss of power, and the next request of every
    /// connection is subject to them.
    ///
    /// - Throws: ``RevocationError/full``; or the store's error. The revocations then apply to this gateway, and are
    ///   lost with the process unless a later reading could store them.
    package func revoke(_ revocations: [Revocation]) async throws {
        guard hasRoom(for: revocations) || makeRoom(for: revocations) else {
            state.withLock { $0.failures += revocations.count }
            logger.error(
                "not revoked: limits.revocations is reached", metadata: ["held": .stringConvertible(current.count)])
            throw RevocationError.full
        }
        // Applied here first: the store may be slow.
        await add(revocations)
        do {
            try await records.keep(revocations.map(RevocationRecord.init))
        } catch {
            state.withLock { state in
                state.failures += revocations.count
                state.failedCalls += 1
            }
            needsWhole = true
            logger.error("revoked by this gateway alone until that can be stored", metadata: ["error": "\(error)"])
            throw error
        }
    }

    func add(_ revocations: [Revocation]) async {
        state.withLock { $0.list = $0.list.adding(revocations) }
        if current.count + current.supersededCount > maximumCount { return await supersede([]) }
        await publish()
    }

    /// Whether these fit into the list. Revocations of a whole user, as on deletion or disabling, may use a 12.5 %
    /// reserve, so that sign-outs, which anyone can make in large numbers, do not block them. Targets that are already
    /// revoked take no room.
    private func hasRoom(for revocations: [Revocation]) -> Bool {
        let reserve = revocations.allSatisfy(\.meansUser) ? max(1, maximumCount / 8) : 0
        let limit = maximumCount + reserve
        return current.count + revocations.count <= limit || current.adding(revocations).count <= limit
    }

    private func makeRoom(for revocations: [Revocation]) -> Bool {
        state.withLock { $0.list = $0.list.removingEnded(now: now()) }
        return hasRoom(for: revocations)
    }
}
