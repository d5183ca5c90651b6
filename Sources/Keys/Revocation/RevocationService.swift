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
    }

    /// How long it takes at most until what another process has written is followed.
    private static let interval = Duration.seconds(2)
    /// How many intervals pass between two looks for what has ended.
    private static let roundsOfKeeping = 300

    private let records: any RevocationRecords
    private let publish: @Sendable () async -> Void
    /// The time by which tokens are revoked, in seconds since 1970.
    package nonisolated let revocationTime: @Sendable () -> Int64
    private let now: @Sendable () -> Int64
    private let logger: Logger
    private var seenChanges: Int64?
    private nonisolated let limit: Locked<Int>
    private nonisolated let state = Locked((list: RevocationList.empty, failures: 0))

    /// The current revocations, readable from anywhere.
    package nonisolated var current: RevocationList { state.withLock { $0.list } }
    package nonisolated var status: Status {
        state.withLock { state in
            Status(
                count: state.list.count, limit: maximumCount, superseded: state.list.supersededCount,
                failures: state.failures)
        }
    }

    /// - Parameters:
    ///   - maximumCount: how many are held; more are refused.
    ///   - publish: returns when every event loop goes by ``current``.
    ///   - now: the time by which ended revocations may be forgotten, in seconds since 1970.
    ///   - revocationTime: the time by which tokens are revoked, likewise.
    package init(
        records: any RevocationRecords, maximumCount: Int, logger: Logger, now: @escaping @Sendable () -> Int64,
        revocationTime: @escaping @Sendable () -> Int64, publish: @escaping @Sendable () async -> Void
    ) {
        self.records = records
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
    /// - Throws: ``RevocationError/full``; or the store's error, when it holds until the next restart only.
    package func revoke(_ revocations: [Revocation]) async throws {
        guard hasRoom(for: revocations) || makeRoom(for: revocations) else {
            state.withLock { $0.failures += revocations.count }
            logger.error("not revoked: limits.revocations is reached", metadata: ["held": "\(current.count)"])
            throw RevocationError.full
        }
        let stored: Result<Void, any Error>
        do {
            stored = .success(try await records.keep(revocations.map(RevocationRecord.init)))
        } catch {
            stored = .failure(error)
            state.withLock { $0.failures += revocations.count }
            logger.error("revoked until the next restart only", metadata: ["error": "\(error)"])
        }
        await add(revocations)
        try stored.get()
    }

    private func add(_ revocations: [Revocation]) async {
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

    // MARK: The store

    /// Takes over what others have written since this was called last; at first all that is kept.
    package func follow() async throws {
        // First the number: what is written in between is read now and once more.
        let changes = try await records.foreignChanges()
        guard changes != seenChanges else { return }
        let stored = try await records.all(now: now())
        seenChanges = changes
        let revocations = stored.compactMap(Revocation.init)
        guard !revocations.isEmpty else { return }
        await add(revocations)
    }

    /// Forgets what has ended.
    func removeEnded() async throws {
        state.withLock { $0.list = $0.list.removingEnded(now: now()) }
        try await records.removeEnded(now: now())
    }

    /// Follows the store until cancelled.
    package func run() async {
        var rounds = 0
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
            rounds += 1
            do {
                try await follow()
                if rounds % Self.roundsOfKeeping == 0 { try await removeEnded() }
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("revocations of other processes cannot be read", metadata: ["error": "\(error)"])
            }
        }
    }
}
