internal import Postgres
internal import Store

extension PostgresSessions: AccountNameRecords {
    static let accountNames = PostgresStore.Migration(
        name: "account-names-1",
        statements: [
            """
            CREATE TABLE account_names (
                pool_id text COLLATE "C" NOT NULL,
                name text COLLATE "C" NOT NULL,
                subject text COLLATE "C" NOT NULL,
                ends_at bigint NOT NULL,
                PRIMARY KEY (pool_id, name)
            )
            """,
            "CREATE INDEX account_names_by_subject ON account_names (pool_id, subject)",
            "CREATE INDEX account_names_by_end ON account_names (ends_at)",
        ])

    package func note(_ names: [String], of subject: String, poolID: String, endsAt: Int64) async throws {
        // Distinct, because one statement can change a row only once; sorted, to avoid deadlocks.
        let sql = """
            INSERT INTO account_names (pool_id, name, subject, ends_at)
            SELECT $1, n.name, $2, $3 FROM (SELECT DISTINCT unnest($4::text[]) COLLATE "C" AS name) AS n ORDER BY n.name
            ON CONFLICT (pool_id, name) DO UPDATE SET subject = excluded.subject, ends_at = excluded.ends_at
            """
        try await store.run(sql, [.text(poolID), .text(subject), .integer(endsAt), .array(names)])
    }

    package func subject(named name: String, poolID: String) async throws -> String? {
        try await store.rows(
            "SELECT subject FROM account_names WHERE pool_id = $1 AND name = $2", [.text(poolID), .text(name)]
        ).first?.text("subject")
    }

    package func subjects(named names: [String], poolID: String) async throws -> [String?] {
        let rows = try await store.rows(
            "SELECT name, subject FROM account_names WHERE pool_id = $1 AND name = ANY ($2::text[])",
            [.text(poolID), .array(names)])
        var subjects: [String: String] = [:]
        for row in rows { subjects[try row.text("name")] = try row.text("subject") }
        return names.map { subjects[$0] }
    }
}
