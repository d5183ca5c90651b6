internal import Clocks
internal import Locking
package import Logging
package import Pipeline
package import Store

/// Why tokens were not revoked.
enum RevocationError: Error, Equatable {
    /// There are as many revocations as are held.
    case full
}

/// The revocation list: kept in the store, and given to every event loop.
package actor RevocationService {
    /// For metrics.
    package struct Status: Sendable {
        package var count = 0
        package var limit = 0
        /// Sessions with tokens that were replaced.
        package var superseded = 0
        /// Revocations that could not be taken or not be kept.
        package var failures = 0
        /// Seconds since the list was last known to be complete.
        package var age: Int64 = 0
        /// Whether it is so old that no token counts.
        package var isTooOld = false
        /// Whether other gateways have the same list.
        package var isShared = false
        /// How changes by others are learned of.
        package var notice = ChangeNotice.poll
    }

    struct State {
        var list = RevocationList.empty
        var failures = 0
        /// How many calls have left revocations in memory alone because the store failed.
        var failedCalls = 0
        /// Of how many of these, from the first on, it has the revocations now.
        var storedCalls = 0
        /// When the list was last known to be complete, in seconds of the clock that nobody sets.
        var readAt: Int64
        /// How far the list has been read.
        var position: ChangePosition?
    }

    /// Whoever follows the list.
    struct Observer: Sendable {
        /// Called after a reading that has brought something.
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
    /// Whether the next reading is of the whole list: something may have been missed, or may be missing there.
    var needsWhole = true
    var lastFailure: String?
    /// Whether the last try to store what the store lacks has failed.
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
    /// Whether revocations are held that could not be stored. They are stored as soon as that succeeds.
    package nonisolated var hasUnstored: Bool { state.withLock { $0.failedCalls > $0.storedCalls } }
    /// How far the list has been read, and how many seconds ago; nil where it is no list of several gateways.
    package nonisolated var standing: (position: ChangePosition, age: Int64)? {
        guard changes.isShared else { return nil }
        return state.withLock { state in
            state.position.map { (position: $0, age: max(0, uptime() - state.readAt)) }
        }
    }

    /// - Parameters:
    ///   - maximumCount: how many are held; more are refused.
    ///   - publish: returns when every event loop goes by ``current``.
    ///   - now: the time by which ended revocations may be forgotten, in seconds since 1970.
    ///   - revocationTime: the time by which tokens are revoked, likewise.
    ///   - staleness: nil where the list is never too old.
    ///   - uptime: seconds of a clock that nobody sets.
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

    /// How many are held at most.
    private nonisolated var maximumCount: Int { limit.withLock { $0 } }

    /// At once, so that of two reloads the later one's holds.
    package nonisolated func adopt(maximumCount: Int) {
        limit.withLock { $0 = maximumCount }
    }

    /// As above; the list is judged by it within a second.
    package nonisolated func adopt(_ staleness: RevocationStaleness?) {
        self.staleness.withLock { $0 = staleness }
    }

    /// Calls `body` after each reading that has brought something, from now on.
    package nonisolated func afterReading(_ body: @escaping @Sendable () -> Void) {
        observer.withLock { $0 = Observer(hasRead: body) }
    }

    /// Of how many sessions it can be known at most that tokens were superseded: revocations never lack room for them.
    package nonisolated var room: Int {
        max(0, min(maximumCount / 2, maximumCount - current.count))
    }

    /// Lets tokens count no more because others have taken their places. Nothing of it is kept.
    package func supersede(_ tokens: [SupersededTokens]) async {
        let room = room
        state.withLock { $0.list = $0.list.superseding(tokens, limit: room) }
        await publish()
    }

    /// Revokes. When this returns, that outlasts a loss of power, and the next request of every connection goes by it.
    ///
    /// - Throws: ``RevocationError/full``; or the store's error. Then it holds here, and is lost with the process unless
    ///   a later reading could store it.
    package func revoke(_ revocations: [Revocation]) async throws {
        guard hasRoom(for: revocations) || makeRoom(for: revocations) else {
            state.withLock { $0.failures += revocations.count }
            logger.error(
                "not revoked: limits.revocations is reached", metadata: ["held": .stringConvertible(current.count)])
            throw RevocationError.full
        }
        // It holds first: the store may take its time.
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
    /// reserve: sign-outs, of which anyone can make many, do not stand in their way. Targets that are revoked already
    /// take no room.
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
