internal import Clocks
internal import Locking
internal import Postgres
internal import Store

/// The database's clock, which all gateways share. Between two readings of it, the gateway's monotonic clock is added.
/// The gateway's own time of day is used only for ``latestTime(_:)``, and only if it is close to the database's.
///
/// The database's clock may be wrong as well, as after a fail-over to a standby. Expired rows are removed by a
/// ``Store/PruningClock`` that follows it.
package final class PostgresClock: RecordClock {
    static let migrations = [
        PostgresStore.Migration(
            name: "pruning-clock-1",
            statements: [
                // The table has one row.
                """
                CREATE TABLE pruning_clock (
                    is_only boolean PRIMARY KEY CHECK (is_only),
                    at bigint NOT NULL
                )
                """
            ])
    ]

    /// SQL for the current time, in milliseconds since 1970.
    static let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    private struct State {
        /// Milliseconds since 1970.
        var time: Int64
        /// The monotonic clock's reading at ``time``, in milliseconds.
        var uptime: Int64
    }

    private let store: PostgresStore
    private let state: Locked<State>
    /// In milliseconds.
    let uptime: @Sendable () -> Int64
    private let pruning: PruningClock

    /// Reads the database's clock.
    ///
    /// - Parameter uptime: milliseconds of a monotonic clock.
    package static func open(
        _ store: PostgresStore, uptime: @escaping @Sendable () -> Int64 = WallClock.steadyMilliseconds()
    ) async throws -> PostgresClock {
        let rows = try await store.rows("SELECT \(now) AS now, (SELECT max(at) FROM pruning_clock) AS newest")
        guard let row = rows.first else { throw StoreError.rowVanished }
        let now = try row.integer("now")
        return PostgresClock(
            store, now: now, newest: try row.optional(PostgresRow.integer, "newest") ?? now / 1000, uptime: uptime)
    }

    private init(_ store: PostgresStore, now: Int64, newest: Int64, uptime: @escaping @Sendable () -> Int64) {
        self.store = store
        self.uptime = uptime
        state = Locked(State(time: now, uptime: uptime()))
        pruning = PruningClock(newest: newest) { uptime() / 1000 }
    }

    /// Adjusts to the database's clock. The reading was taken between the request and now: the time changes only if it
    /// lies outside the range that this allows.
    ///
    /// - Parameters:
    ///   - time: the reading, in milliseconds since 1970.
    ///   - sent: when it was requested, by ``uptime``.
    func follow(_ time: Int64, askedAt sent: Int64) {
        let received = uptime()
        state.withLock { state in
            let expected = state.time + received - state.uptime
            state = State(time: min(max(expected, time), time + max(0, received - sent)), uptime: received)
        }
    }

    package func sharedMilliseconds(_ now: Int64 = 0) -> Int64 {
        let uptime = uptime()
        return state.withLock { $0.time + max(0, uptime - $0.uptime) }
    }

    package func sharedTime(_ now: Int64 = 0) -> Int64 { sharedMilliseconds() / 1000 }

    package func pruningTime(_ now: Int64) -> Int64 { pruning.time(sharedTime()) }

    package func believedTime(_ now: Int64) -> Int64 { pruning.believed(sharedTime()) }

    /// The later of the database's time and the gateway's, if they are close to each other. Issuers date tokens by
    /// their own clocks: a revocation by a slow clock would miss tokens issued just before it.
    package func latestTime(_ now: Int64) -> Int64 {
        let shared = pruning.latest(sharedTime())
        return abs(now - shared) <= PruningClock.smallStep ? max(now, shared) : shared
    }

    package func keepPruningClock(now: Int64) async throws {
        let (newest, sent) = (max(pruning.newest, pruningTime(now)), uptime())
        let rows = try await store.rows(
            """
            INSERT INTO pruning_clock AS c (is_only, at) VALUES (TRUE, $1)
            ON CONFLICT (is_only) DO UPDATE SET at = GREATEST(c.at, excluded.at) RETURNING \(Self.now) AS now
            """, [.integer(newest)])
        guard let row = rows.first else { throw StoreError.rowVanished }
        follow(try row.integer("now"), askedAt: sent)
    }
}
