internal import Postgres
package import Store

/// Revocations in PostgreSQL. They outlast a loss of power by its default, `synchronous_commit = on`.
package struct PostgresRevocations: RevocationRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "revocations-1",
            statements: [
                // A row for each sign-in that was spared: what all rows of a subject mean together, the reader finds
                // out. `spared` is empty where none was.
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
            ])
    ]

    private let store: PostgresStore
    private let clock: any RecordClock

    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func keep(_ records: [RevocationRecord]) async throws {
        // Each row once, as one statement changes a row once; in the order of the key, so that no two wait for each
        // other. GREATEST and max() leave NULL out, which means more than any time.
        let sql = """
            INSERT INTO revocations AS r (issuer, claim, value, is_sparing, spared, before, ends_at)
            SELECT n.issuer, n.claim, n.value, n.is_sparing, n.spared,
                CASE WHEN bool_and(n.before IS NOT NULL) THEN max(n.before) END, max(n.ends_at)
            FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bigint[], $7::bigint[])
                AS n (issuer, claim, value, is_sparing, spared, before, ends_at)
            GROUP BY n.issuer, n.claim, n.value, n.is_sparing, n.spared
            ORDER BY n.issuer COLLATE "C", n.claim COLLATE "C", n.value COLLATE "C", n.is_sparing, n.spared COLLATE "C"
            ON CONFLICT (issuer, claim, value, is_sparing, spared) DO UPDATE SET
                before = CASE WHEN r.before IS NOT NULL AND excluded.before IS NOT NULL
                    THEN GREATEST(r.before, excluded.before) END,
                ends_at = GREATEST(r.ends_at, excluded.ends_at)
            """
        let values: [PostgresValue] = [
            .array(records.map(\.issuer)), .array(records.map { $0.sparing == nil ? $0.claim : "sub" }),
            .array(records.map(\.value)), .array(records.map { $0.sparing != nil }),
            .array(records.map { $0.sparing ?? "" }),
            .array(records.map { $0.before ?? ($0.sparing == nil ? nil : .max) }), .array(records.map(\.endsAt)),
        ]
        try await store.run(sql, values)
    }

    /// Read in pages of the key's order, so that no response is large. A record that is kept meanwhile may be left out:
    /// ``foreignChanges()`` of before then differs from the one after.
    package func all(now: Int64) async throws -> [RevocationRecord] {
        let sql = """
            SELECT issuer, claim, value, is_sparing, spared, before, ends_at FROM revocations
            WHERE ends_at > $1 AND (issuer, claim, value, is_sparing, spared) > ($2, $3, $4, $5, $6)
            ORDER BY issuer, claim, value, is_sparing, spared LIMIT \(Self.page)
            """
        let end = PostgresValue.integer(clock.pruningTime(now))
        // Before all keys: no claim is empty.
        var last: [PostgresValue] = [.text(""), .text(""), .text(""), .boolean(false), .text("")]
        var records: [RevocationRecord] = []
        while true {
            let rows = try await store.rows(sql, [end] + last)
            records += try rows.map(RevocationRecord.init)
            guard rows.count == Self.page, let row = rows.last else { return records }
            last = [
                .text(try row.text("issuer")), .text(try row.text("claim")), .text(try row.text("value")),
                .boolean(try row.boolean("is_sparing")), .text(try row.text("spared")),
            ]
        }
    }

    private static let page = 1000

    package func removeEnded(now: Int64) async throws {
        try await store.removeEnded(
            from: "revocations", key: ["issuer", "claim", "value", "is_sparing", "spared"], where: "ends_at <= $1",
            [.integer(clock.pruningTime(now))])
    }

    /// A hash of all rows: another one whenever other rows are seen, whoever wrote them and in whatever order they were
    /// committed. Changes of this process itself give another one as well, and cost it one reading more.
    ///
    /// It reads the table, about 25 ms for 100,000 rows. A counter would be cheaper to read, but all who
    /// revoke anything would wait for each other's commit at it.
    package func foreignChanges() async throws -> Int64 {
        let sql = """
            SELECT coalesce(bit_xor(hash_record_extended(
                ROW(issuer, claim, value, is_sparing, spared, before, ends_at), 0)), 0) AS hash FROM revocations
            """
        guard let row = try await store.rows(sql).first else { return 0 }
        return try row.integer("hash")
    }
}

extension RevocationRecord {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            issuer: try row.text("issuer"), claim: try row.text("claim"), value: try row.text("value"),
            before: try row.optional(PostgresRow.integer, "before"),
            sparing: try row.boolean("is_sparing") ? try row.text("spared") : nil,
            endsAt: try row.integer("ends_at"))
    }
}
