internal import Postgres
package import Store

/// Key rings in PostgreSQL: one row for each purpose, with the newest version.
package struct PostgresKeyRings: KeyRingRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "key-rings-1",
            statements: [
                """
                CREATE TABLE key_rings (
                    purpose text COLLATE "C" PRIMARY KEY,
                    version bigint NOT NULL,
                    sealed bytea NOT NULL,
                    changed_at timestamptz NOT NULL DEFAULT now()
                )
                """
            ])
    ]

    private let store: PostgresStore

    package init(_ store: PostgresStore) {
        self.store = store
    }

    package func keyRing(_ purpose: KeyPurpose) async throws -> KeyRingRecord? {
        let sql = "SELECT version, sealed FROM key_rings WHERE purpose = $1"
        guard let row = try await store.rows(sql, [.text(purpose.rawValue)]).first else { return nil }
        return KeyRingRecord(version: try row.integer("version"), sealed: try row.bytes("sealed"))
    }

    /// SQL that stores a version in place of any other.
    static let putting = """
        INSERT INTO key_rings (purpose, version, sealed) VALUES ($1, $2, $3)
        ON CONFLICT (purpose) DO UPDATE SET version = excluded.version, sealed = excluded.sealed, changed_at = now()
        """

    package func replace(with record: KeyRingRecord, for purpose: KeyPurpose) async throws -> Bool {
        // A writer that waits for another one's row lock checks the version again.
        let sql =
            record.version == 1
            ? "INSERT INTO key_rings (purpose, version, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
            : """
            UPDATE key_rings SET version = $2, sealed = $3, changed_at = now()
            WHERE purpose = $1 AND version = $2 - 1
            """
        return try await store.run(
            sql, [.text(purpose.rawValue), .integer(record.version), .bytes(record.sealed)]) > 0
    }
}
