internal import Postgres
internal import Store

/// Sessions whose tokens were replaced, as they change: by a snapshot, as ``PostgresRevocationChanges``.
///
/// Nobody is told of them. A replaced token counts for a minute more, and all gateways have asked by then.
struct PostgresSupersededSessions {
    static let migrations = [
        PostgresStore.Migration(
            name: "user-sessions-2",
            statements: [
                // The transaction that has made the newest token.
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

    func read(since position: ChangePosition?, now: Int64, limit: Int) async throws -> SupersededReading {
        let rows =
            if let position {
                try await rows(
                    """
                    WHERE successor IS NOT NULL AND changed >= pg_snapshot_xmin($1::pg_snapshot)
                        AND NOT pg_visible_in_snapshot(changed, $1::pg_snapshot)
                    ORDER BY refreshed_at LIMIT $2
                    """, [.text(position.mark), .integer(limit)])
            } else {
                try await rows(
                    """
                    WHERE rotation > 0 AND previous_expires_at > $1 AND ended_at IS NULL
                    ORDER BY previous_expires_at DESC LIMIT $2
                    """, [.integer(clock.pruningTime(now)), .integer(limit)])
            }
        guard let first = rows.first else { throw PostgresRow.MissingColumn(name: "snapshot") }
        let current = ChangePosition(origin: try first.text("origin"), mark: try first.text("snapshot"))
        if let position, position.origin != current.origin { return try await read(since: nil, now: now, limit: limit) }
        let sessions = try rows.filter { try $0.optional(PostgresRow.text, "id") != nil }.map(SupersededSession.init)
        return SupersededReading(sessions: sessions.sorted { $0.refreshedAt < $1.refreshedAt }, position: current)
    }

    /// With the position on each row; one row without a session where there is none.
    private func rows(_ chosen: String, _ values: [PostgresValue]) async throws -> [PostgresRow] {
        try await store.rows(
            """
            SELECT (SELECT pg_current_snapshot()::text) AS snapshot, (\(PostgresOrigin.sql)) AS origin,
                s.id, s.rotation, s.refreshed_at, s.previous_expires_at
            FROM (VALUES (TRUE)) AS once LEFT JOIN (
                SELECT id, rotation, refreshed_at, previous_expires_at FROM user_sessions
                \(chosen)
            ) AS s ON TRUE
            """, values)
    }
}
