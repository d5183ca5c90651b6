internal import Postgres
internal import Store

/// Sessions whose tokens were replaced, followed by snapshot like ``PostgresRevocationChanges``.
///
/// There are no notifications: gateways poll. A change is visible for about a minute; a gateway that has not polled for
/// longer must read all.
struct PostgresSupersededSessions {
    static let migrations = [
        PostgresStore.Migration(
            name: "user-sessions-2",
            statements: [
                // The transaction that issued the newest token.
                "ALTER TABLE user_sessions ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id()",
                "CREATE INDEX user_sessions_by_change ON user_sessions (changed) WHERE successor IS NOT NULL",
            ])
    ]

    private let store: PostgresStore
    private let clock: any RecordClock

    init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    /// The number of rows that one statement reads.
    static let page = 1000

    func read(since position: ChangePosition?, now: Int64, limit: Int) async throws -> SupersededReading {
        if position == nil {
            await store.takeOverTransactions("user_sessions", where: "successor IS NOT NULL")
        }
        // The position is read first: changes made while the pages are read are returned again.
        let sql = "SELECT pg_current_snapshot()::text AS snapshot, (\(PostgresOrigin.sql)) AS origin"
        guard let row = try await store.rows(sql).first else { throw PostgresRow.MissingColumn(name: "snapshot") }
        let current = ChangePosition(origin: try row.text("origin"), mark: try row.text("snapshot"))
        if let position, position.origin != current.origin {
            return try await read(since: nil, now: now, limit: limit)
        }
        guard let position else {
            // Beyond the limit, the sessions whose tokens expire first are omitted.
            let sessions = try await all(limit: limit, now: now)
            return SupersededReading(sessions: sessions.sorted { $0.refreshedAt < $1.refreshedAt }, position: current)
        }
        return SupersededReading(sessions: try await changed(since: position, limit: limit), position: current)
    }

    private func all(limit: Int, now: Int64) async throws -> [SupersededSession] {
        let expiry = clock.pruningTime(now) - SupersededSession.grace
        return try await PostgresStore.pages(of: Self.page, upTo: limit) { (last: SupersededSession?, count: Int) in
            try await store.rows(
                """
                SELECT id, rotation, refreshed_at, previous_expires_at FROM user_sessions
                WHERE rotation > 0 AND previous_expires_at > $1 AND ended_at IS NULL
                    AND ($2::text IS NULL OR (previous_expires_at, id) < ($3, $2))
                ORDER BY previous_expires_at DESC, id DESC LIMIT $4
                """,
                [.integer(expiry), .orNull(last?.id), .integer(last?.expiresAt ?? 0), .integer(count)]
            ).map(SupersededSession.init)
        }
    }

    private func changed(since position: ChangePosition, limit: Int) async throws -> [SupersededSession] {
        try await PostgresStore.pages(of: Self.page, upTo: limit) { (last: SupersededSession?, count: Int) in
            try await store.rows(
                """
                SELECT id, rotation, refreshed_at, previous_expires_at FROM user_sessions
                WHERE successor IS NOT NULL AND changed >= pg_snapshot_xmin($1::pg_snapshot)
                    AND NOT pg_visible_in_snapshot(changed, $1::pg_snapshot)
                    AND ($2::text IS NULL OR (refreshed_at, id) > ($3, $2))
                ORDER BY refreshed_at, id LIMIT $4
                """,
                [.text(position.mark), .orNull(last?.id), .integer(last?.refreshedAt ?? 0), .integer(count)]
            ).map(SupersededSession.init)
        }
    }
}
