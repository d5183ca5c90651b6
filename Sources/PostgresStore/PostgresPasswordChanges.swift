internal import Postgres
package import Store

/// Password changes in PostgreSQL.
package struct PostgresPasswordChanges: PasswordChangeRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "password-changes-1",
            statements: [
                """
                CREATE TABLE password_changes (
                    id bytea PRIMARY KEY,
                    pool_id text COLLATE "C" NOT NULL,
                    client_id text COLLATE "C" NOT NULL,
                    subject text COLLATE "C",
                    spared text COLLATE "C",
                    noted_at bigint NOT NULL,
                    ends_sign_ins_until bigint NOT NULL
                )
                """
            ])
    ]

    private let store: PostgresStore

    package init(_ store: PostgresStore) {
        self.store = store
    }

    package func add(_ record: PasswordChangeRecord) async throws {
        let sql = """
            INSERT INTO password_changes (id, pool_id, client_id, subject, spared, noted_at, ends_sign_ins_until)
            VALUES ($1, $2, $3, $4::text, $5::text, $6, $7)
            """
        try await store.run(
            sql,
            [
                .bytes(record.id), .text(record.poolID), .text(record.clientID), .orNull(record.subject),
                .orNull(record.spared), .integer(record.notedAt), .integer(record.endsSignInsUntil),
            ])
    }

    package func remove(_ id: [UInt8]) async throws {
        try await store.run("DELETE FROM password_changes WHERE id = $1", [.bytes(id)])
    }

    package func all(poolID: String, clientID: String, limit: Int) async throws -> [PasswordChangeRecord] {
        let sql = """
            SELECT id, pool_id, client_id, subject, spared, noted_at, ends_sign_ins_until FROM password_changes
            WHERE pool_id = $1 AND client_id = $2 ORDER BY noted_at, id LIMIT $3
            """
        return try await store.rows(sql, [.text(poolID), .text(clientID), .integer(limit)]).map { row in
            PasswordChangeRecord(
                id: try row.bytes("id"), poolID: try row.text("pool_id"), clientID: try row.text("client_id"),
                subject: try row.optional(PostgresRow.text, "subject"),
                spared: try row.optional(PostgresRow.text, "spared"), notedAt: try row.integer("noted_at"),
                endsSignInsUntil: try row.integer("ends_sign_ins_until"))
        }
    }
}
