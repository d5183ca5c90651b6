internal import Postgres
package import Store

/// Revocations in PostgreSQL. They survive a power loss with its default, `synchronous_commit = on`.
package struct PostgresRevocations: RevocationRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "revocations-1",
            statements: [
                // One row for each spared sign-in. The reader combines all rows of a subject. `spared` is empty if none
                // was spared.
                """
                CREATE TABLE revocations (
                    issuer text COLLATE "C" NOT NULL,
                    claim text COLLATE "C" NOT NULL CHECK (claim IN ('origin_jti', 'jti', 'sid', 'sub')),
                    value text COLLATE "C" NOT NULL,
                    is_sparing boolean NOT NULL,
                    spared text COLLATE "C" NOT NULL,
                    before bigint,
                    ends_at bigint NOT NULL,
                    PRIMARY KEY (issuer, claim, value, is_sparing, spared)
                )
                """,
                "CREATE INDEX revocations_by_end ON revocations (ends_at)",
            ]),
        PostgresStore.Migration(
            name: "revocations-2",
            statements: [
                // The transaction that last changed the row: a snapshot shows whether a follower has seen it.
                "ALTER TABLE revocations ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id()",
                "CREATE INDEX revocations_by_change ON revocations (changed)",
            ]),
    ]

    /// The channel on which changes are announced.
    package static let channel = "gatehouse_revocations"

    /// For how many seconds a record is stored beyond the validity of the tokens it revokes: a gateway validates tokens
    /// by its own time of day, and one with a slow clock accepts them for longer.
    static let grace: Int64 = 3600

    private let store: PostgresStore
    private let clock: any RecordClock
    private let listener: PostgresListener?

    /// - Parameter listener: listens on ``channel``; nil: changes are polled.
    package init(_ store: PostgresStore, clock: any RecordClock, listener: PostgresListener? = nil) {
        self.store = store
        self.clock = clock
        self.listener = listener
    }

    package var changes: any RevocationChanges {
        PostgresRevocationChanges(store, clock: clock, listener: listener)
    }

    package func keep(_ records: [RevocationRecord]) async throws {
        // Each row once, because one statement can change a row only once; in key order, to avoid deadlocks. GREATEST
        // and max() ignore NULL, which here means later than any time. The notification is sent with the commit, and
        // only if a row has changed.
        let sql = """
            WITH kept AS (
                INSERT INTO revocations AS r (issuer, claim, value, is_sparing, spared, before, ends_at, changed)
                SELECT n.issuer, n.claim, n.value, n.is_sparing, n.spared,
                    CASE WHEN bool_and(n.before IS NOT NULL) THEN max(n.before) END, max(n.ends_at),
                    pg_current_xact_id()
                FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bigint[], $7::bigint[])
                    AS n (issuer, claim, value, is_sparing, spared, before, ends_at)
                GROUP BY n.issuer, n.claim, n.value, n.is_sparing, n.spared
                ORDER BY
                    n.issuer COLLATE "C", n.claim COLLATE "C", n.value COLLATE "C", n.is_sparing, n.spared COLLATE "C"
                ON CONFLICT (issuer, claim, value, is_sparing, spared) DO UPDATE SET
                    before = CASE WHEN r.before IS NOT NULL AND excluded.before IS NOT NULL
                        THEN GREATEST(r.before, excluded.before) END,
                    ends_at = GREATEST(r.ends_at, excluded.ends_at), changed = excluded.changed
                WHERE r.ends_at < excluded.ends_at
                    OR r.before IS NOT NULL AND (excluded.before IS NULL OR r.before < excluded.before)
                RETURNING TRUE
            )
            SELECT pg_notify('\(Self.channel)', '') FROM (SELECT count(*) AS count FROM kept) AS k WHERE k.count > 0
            """
        let values: [PostgresValue] = [
            .array(records.map(\.issuer)), .array(records.map { $0.sparing == nil ? $0.claim : "sub" }),
            .array(records.map(\.value)), .array(records.map { $0.sparing != nil }),
            .array(records.map { $0.sparing ?? "" }),
            .array(records.map { $0.before ?? ($0.sparing == nil ? nil : .max) }), .array(records.map(\.endsAt)),
        ]
        try await store.run(sql, values)
    }

    package func all(now: Int64) async throws -> [RevocationRecord] {
        try await PostgresRevocationChanges(store, clock: clock, listener: nil).read(since: nil, now: now).records
    }

    package func removeEnded(now: Int64) async throws {
        try await store.removeEnded(
            from: "revocations", key: ["issuer", "claim", "value", "is_sparing", "spared"], where: "ends_at <= $1",
            [.integer(clock.pruningTime(now) - Self.grace)])
    }
}
