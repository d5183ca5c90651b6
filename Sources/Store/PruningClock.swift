internal import Clocks
internal import GRDB
internal import Locking

/// The clock by which expired rows are removed: never ahead of the time of day, and never ahead of the stored time by
/// more than twice the time elapsed on the monotonic clock.
///
/// The time of day can be wrong temporarily, as after a start without time synchronization. Rows removed by a fast
/// clock cannot be restored: an ended session or a revoked token would become valid again once the clock is corrected.
/// After a long downtime this clock is behind and catches up at two seconds a second; meanwhile rows stay longer.
package final class PruningClock: Sendable {
    static let migrations = [
        Store.Migration(name: "pruning-clock-1", sql: "CREATE TABLE pruning_clock (at INTEGER NOT NULL) STRICT")
    ]

    private struct State {
        /// The latest trusted time, in seconds since 1970.
        var newest: Int64
        /// When ``newest`` was set, in seconds of the monotonic clock.
        var uptime: Int64
        /// The latest time of day that was fully trusted, and the monotonic clock's reading at that moment.
        var right: (time: Int64, uptime: Int64)
    }

    /// The number of seconds by which the time of day may be behind and still be trusted: ordinary clock corrections
    /// are smaller.
    package static let smallStep: Int64 = 60

    private let state: Locked<State>
    private let uptime: @Sendable () -> Int64

    /// - Parameters:
    ///   - newest: the latest time known to have passed, in seconds since 1970.
    ///   - uptime: seconds of a monotonic clock.
    package init(newest: Int64, uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() }) {
        let now = uptime()
        state = Locked(State(newest: newest, uptime: now, right: (newest, now)))
        self.uptime = uptime
    }

    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: `now`, or an earlier time while `now` is not trusted.
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

    /// The clock by which tokens are revoked. A time of day that was set back is distrusted for as long as the step. By
    /// that time, a revocation would miss the tokens issued during the step, and would expire before they do.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: `now`, or a later time if `now` is behind the monotonic clock.
    package func latest(_ now: Int64) -> Int64 {
        _ = time(now)
        let uptime = uptime()
        let right = state.withLock { $0.right }
        let steady = right.time + max(0, uptime - right.uptime)
        return steady - now > Self.smallStep ? steady : now
    }

    /// The trusted time of day: if it is behind or ahead, the time according to the monotonic clock.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    package func believed(_ now: Int64) -> Int64 {
        let latest = latest(now)
        return latest > now ? latest : time(now)
    }

    /// The latest trusted time.
    package var newest: Int64 { state.withLock { $0.newest } }
}

extension Store {
    /// From now on, rows that have expired only by a clock ahead of the stored one are not removed.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970; trusted if no time is stored yet.
    ///   - uptime: seconds of a monotonic clock.
    func followPruningClock(
        now: Int64, uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() }
    ) throws {
        let newest = try readBlocking { database in
            // Databases from before this clock: the latest refresh.
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
