internal import Postgres
package import Store

/// Sessions of translated sign-ins in PostgreSQL.
package struct PostgresDirectSessions: DirectSessionRecords {
    static let migration = PostgresStore.Migration(
        name: "direct-sessions-1",
        statements: [
            """
            CREATE TABLE direct_sessions (
                digest text COLLATE "C" NOT NULL,
                pool_id text COLLATE "C" NOT NULL,
                subject text COLLATE "C" NOT NULL,
                origin_id text COLLATE "C" NOT NULL,
                signed_in_at bigint,
                ends_at bigint NOT NULL,
                PRIMARY KEY (pool_id, digest)
            )
            """,
            "CREATE INDEX direct_sessions_by_subject ON direct_sessions (pool_id, subject)",
            "CREATE INDEX direct_sessions_by_end ON direct_sessions (ends_at)",
        ])

    private let store: PostgresStore
    private let clock: any RecordClock

    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func note(_ record: DirectSessionRecord) async throws {
        let sql = """
            INSERT INTO direct_sessions AS d (digest, pool_id, subject, origin_id, signed_in_at, ends_at)
            VALUES ($1, $2, $3, $4, $5::bigint, $6)
            ON CONFLICT (pool_id, digest) DO UPDATE SET ends_at = GREATEST(d.ends_at, excluded.ends_at)
            """
        try await store.run(
            sql,
            [
                .text(record.digest), .text(record.poolID), .text(record.subject), .text(record.originID),
                .orNull(record.signedInAt), .integer(record.endsAt),
            ])
    }

    package func session(by digest: String, poolID: String) async throws -> DirectSessionRecord? {
        let sql = """
            SELECT digest, pool_id, subject, origin_id, signed_in_at, ends_at FROM direct_sessions
            WHERE pool_id = $1 AND digest = $2
            """
        guard let row = try await store.rows(sql, [.text(poolID), .text(digest)]).first else { return nil }
        return DirectSessionRecord(
            digest: try row.text("digest"), poolID: try row.text("pool_id"), subject: try row.text("subject"),
            originID: try row.text("origin_id"),
            signedInAt: try row.optional(PostgresRow.integer, "signed_in_at"), endsAt: try row.integer("ends_at"))
    }

    package func removeEnded(now: Int64) async throws {
        try await store.removeEnded(
            from: "direct_sessions", key: ["pool_id", "digest"], where: "ends_at <= $1",
            [.integer(clock.pruningTime(now))])
    }
}
