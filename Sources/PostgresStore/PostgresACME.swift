internal import Postgres
package import Store

/// The ACME state in PostgreSQL: one row with the newest version, and one with the lease.
package struct PostgresACME: ACMERecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "acme-1",
            statements: [
                """
                CREATE TABLE acme_state (
                    name text COLLATE "C" PRIMARY KEY,
                    version bigint NOT NULL,
                    sealed bytea NOT NULL,
                    changed_at timestamptz NOT NULL DEFAULT now()
                )
                """,
                """
                CREATE TABLE acme_leases (
                    name text COLLATE "C" PRIMARY KEY,
                    holder text COLLATE "C" NOT NULL,
                    ends_at timestamptz NOT NULL
                )
                """,
            ])
    ]

    private static let (state, lease) = ("state", "orders")

    private let store: PostgresStore

    package init(_ store: PostgresStore) {
        self.store = store
    }

    // The version number alone is not unique: a standby that has taken over may lack the newest version and have
    // another one stored under its number.

    package func state(otherThan known: ACMEVersion?) async throws -> ACMERecord? {
        let sql = """
            SELECT version, sealed FROM acme_state WHERE name = $1 AND (version <> $2 OR sha256(sealed) <> $3)
            """
        let values: [PostgresValue] = [.text(Self.state), .integer(known?.number ?? 0), .bytes(known?.digest ?? [])]
        guard let row = try await store.rows(sql, values).first else { return nil }
        return ACMERecord(version: try row.integer("version"), sealed: try row.bytes("sealed"))
    }

    package func replace(_ known: ACMEVersion?, with record: ACMERecord) async throws -> Bool {
        let values: [PostgresValue] = [.text(Self.state), .integer(record.version), .bytes(record.sealed)]
        guard let known else {
            return try await store.run(
                "INSERT INTO acme_state (name, version, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", values) > 0
        }
        // A writer that waits for another one's row lock checks the version again.
        return try await store.run(
            """
            UPDATE acme_state SET version = $2, sealed = $3, changed_at = now()
            WHERE name = $1 AND version = $4 AND sha256(sealed) = $5
            """, values + [.integer(known.number), .bytes(known.digest)]) > 0
    }

    package func lease(to holder: String, seconds: Int64) async throws -> Bool {
        try await store.run(
            """
            INSERT INTO acme_leases AS l (name, holder, ends_at) VALUES ($1, $2, now() + $3 * interval '1 second')
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
            WHERE l.holder = excluded.holder OR l.ends_at <= now()
            """, [.text(Self.lease), .text(holder), .integer(seconds)]) > 0
    }

    package func endLease(of holder: String) async throws {
        try await store.run(
            "DELETE FROM acme_leases WHERE name = $1 AND holder = $2", [.text(Self.lease), .text(holder)])
    }
}
