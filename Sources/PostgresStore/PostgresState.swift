package import Postgres
package import Store

/// A gateway's open connection to the state that several gateways share in one PostgreSQL database.
package final class PostgresState: StateStore {
    static let migrations = [
        PostgresStore.Migration(
            name: "write-trials-1",
            statements: [
                // One row for each process, so that none waits for another.
                "CREATE TABLE write_trials (process text COLLATE \"C\" PRIMARY KEY, tried_at bigint NOT NULL)"
            ])
    ]

    /// The number of seconds after which the row of a process that did not shut down cleanly is removed.
    private static let trialLifetime: Int64 = 86_400

    package let records: GatewayRecords
    package let schemaVersion: Int
    package let clock: PostgresClock
    package let store: PostgresStore
    /// The id of this process.
    private let process: String

    private init(
        _ store: PostgresStore, _ clock: PostgresClock, _ settings: PostgresSettings, schemaVersion: Int
    ) {
        self.store = store
        self.clock = clock
        self.schemaVersion = schemaVersion
        process =
            String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        records = GatewayRecords(
            sessions: PostgresSessions(store, clock: clock),
            directSessions: PostgresDirectSessions(store, clock: clock),
            passwordChanges: PostgresPasswordChanges(store), users: PostgresUsers(store, clock: clock),
            codes: PostgresAuthorizationCodes(store, clock: clock),
            revocations: PostgresRevocations(
                store, clock: clock, listener: PostgresListener(settings, channel: PostgresRevocations.channel)),
            limits: PostgresLimits(store, clock: clock), outbox: PostgresOutbox(store, clock: clock),
            shortLived: PostgresShortLived(store), clock: clock, replicas: PostgresReplicas(store))
    }

    package var keyRings: (any KeyRingRecords)? { PostgresKeyRings(store) }
    package var acme: (any ACMERecords)? { PostgresACME(store) }

    /// Connects, migrates the database to the current schema, and verifies that it can be written.
    ///
    /// - Parameters:
    ///   - poolSize: the maximum number of connections.
    ///   - uptime: milliseconds of a monotonic clock; nil: the system's.
    package static func open(
        _ settings: PostgresSettings, poolSize: Int = 8, uptime: (@Sendable () -> Int64)? = nil
    ) async throws(PostgresStartError) -> PostgresState {
        let store = PostgresStore(PostgresPool(settings, size: poolSize))
        do {
            try await PostgresInspection.requireServer(settings)
            try await PostgresInspection.requireRights(store, settings)
            let count = try await store.migrate()
            let clock =
                if let uptime { try await PostgresClock.open(store, uptime: uptime) } else {
                    try await PostgresClock.open(store)
                }
            let state = PostgresState(store, clock, settings, schemaVersion: count)
            try await state.writeTrial()
            return state
        } catch {
            throw PostgresStartError(error, settings)
        }
    }

    package var isShared: Bool { true }
    package var readings: StoreReadings? { store.readings }
    package var writeError: String? { store.condition.error }

    /// The write also adjusts ``clock`` to the database's. It takes at most the response time limit of the settings.
    package func tryWriting() async {
        do {
            try await writeTrial()
            store.condition.trialSucceeded()
        } catch {
            store.condition.trialFailed(error)
        }
    }

    private func writeTrial() async throws {
        let sent = clock.uptime()
        let rows = try await store.rows(
            """
            INSERT INTO write_trials (process, tried_at) VALUES ($1, \(PostgresClock.now) / 1000)
            ON CONFLICT (process) DO UPDATE SET tried_at = excluded.tried_at RETURNING \(PostgresClock.now) AS now
            """, [.text(process)])
        guard let row = rows.first else { throw StoreError.rowVanished }
        clock.follow(try row.integer("now"), askedAt: sent)
    }

    package func recordCleanShutdown(now: Int64) async throws {
        try await clock.keepPruningClock(now: now)
        // Including the rows of processes that could not remove theirs.
        try await store.run(
            """
            WITH ended AS MATERIALIZED (
                SELECT process FROM write_trials WHERE process = $1 OR tried_at < $2 FOR UPDATE SKIP LOCKED
            )
            DELETE FROM write_trials AS t USING ended AS e WHERE t.process = e.process
            """, [.text(process), .integer(clock.sharedTime(now) - Self.trialLifetime)])
    }

    /// Closes all connections; later operations on the records fail.
    package func close() async throws {
        try await store.pool.close()
    }
}
