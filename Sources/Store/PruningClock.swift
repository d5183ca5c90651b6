internal import Clocks
internal import GRDB
internal import Locking

/// The time by which ended rows are removed: never ahead of the time of day, and never ahead of the stored time by more
/// than twice what has passed on the monotonic clock.
///
/// The time of day can be wrong for a while, as after a start without time synchronization. Rows removed by a clock
/// that is ahead cannot be brought back: a session that was ended, or a revoked token, would be valid again once the
/// clock is right. After a long stop this clock is behind, catches up two seconds in each, and rows stay somewhat
/// longer.
package final class PruningClock: Sendable {
    static let migrations = [
        Store.Migration(name: "pruning-clock-1", sql: "CREATE TABLE pruning_clock (at INTEGER NOT NULL) STRICT")
    ]

    private struct State {
        /// The latest time that was believed, in seconds since 1970.
        var newest: Int64
        /// When that was, in seconds of the monotonic clock.
        var uptime: Int64
        /// The latest time of day that was believed as a whole, and when that was by the monotonic clock.
        var right: (time: Int64, uptime: Int64)
    }

    /// By how many seconds a time of day may be behind without being doubted: clocks are corrected by less.
    package static let smallStep: Int64 = 60

    private let state: Locked<State>
    private let uptime: @Sendable () -> Int64

    /// - Parameters:
    ///   - newest: the latest time that is known to have been, in seconds since 1970.
    ///   - uptime: seconds of a clock that nobody sets.
    package init(newest: Int64, uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() }) {
        let now = uptime()
        state = Locked(State(newest: newest, uptime: now, right: (newest, now)))
        self.uptime = uptime
    }

    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: `now`, or an earlier time while `now` is not believed.
    package func time(_ now: Int64) -> Int64 {
        let uptime = uptime()
        return state.withLock { state in
            let believed = min(now, state.newest + 2 * max(0, uptime - state.uptime))
            if believed > state.newest {
                (state.newest, state.uptime) = (believed, uptime)
                if believed == now { state.right = (now, uptime) }
            }
            return believed
        }
    }

    /// The time by which tokens are revoked. A time of day that was set back is doubted for as long as the step was: by
    /// it, tokens that were issued meanwhile would be left out, and a revocation would end before they do.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: `now`, or a later time where `now` is behind the monotonic clock.
    package func latest(_ now: Int64) -> Int64 {
        _ = time(now)
        let uptime = uptime()
        let right = state.withLock { $0.right }
        let steady = right.time + max(0, uptime - right.uptime)
        return steady - now > Self.smallStep ? steady : now
    }

    /// The time of day as far as it is believed: where it is behind or ahead, the one that the monotonic clock shows.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    package func believed(_ now: Int64) -> Int64 {
        let latest = latest(now)
        return latest > now ? latest : time(now)
    }

    /// The latest time that was believed.
    package var newest: Int64 { state.withLock { $0.newest } }
}

extension Store {
    /// From now on removes nothing that has ended only by a clock which is ahead of the one kept here.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970; believed where nothing is kept yet.
    ///   - uptime: seconds of a clock that nobody sets.
    func followPruningClock(
        now: Int64, uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() }
    ) throws {
        let newest = try readBlocking { database in
            // Before there was such a clock: the latest refresh.
            try Int64.fetchOne(
                database,
                sql: """
                    SELECT coalesce((SELECT max(at) FROM pruning_clock), (
                        SELECT max(at) FROM (
                            SELECT max(refreshed_at) AS at FROM sessions
                            UNION ALL SELECT max(refreshed_at) FROM user_sessions)))
                    """)
        }
        pruningClock.withLock { $0 = PruningClock(newest: newest ?? now, uptime: uptime) }
    }
}

extension Store: RecordClock {
    package func keepPruningClock(now: Int64) async throws {
        guard let clock = pruningClock.withLock({ $0 }) else { return }
        _ = clock.time(now)
        let newest = clock.newest
        try await write { database in
            try database.execute(sql: "UPDATE pruning_clock SET at = max(at, ?)", arguments: [newest])
            guard database.changesCount == 0 else { return }
            try database.execute(sql: "INSERT INTO pruning_clock (at) VALUES (?)", arguments: [newest])
        }
    }

    package func pruningTime(_ now: Int64) -> Int64 {
        pruningClock.withLock { $0 }?.time(now) ?? now
    }

    package func believedTime(_ now: Int64) -> Int64 {
        pruningClock.withLock { $0 }?.believed(now) ?? now
    }

    package func latestTime(_ now: Int64) -> Int64 {
        pruningClock.withLock { $0 }?.latest(now) ?? now
    }
}
