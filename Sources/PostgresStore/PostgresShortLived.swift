internal import Postgres
package import Store

/// Expiring values in PostgreSQL, by the server's clock.
package struct PostgresShortLived: ShortLivedRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "short-lived-1",
            statements: [
                """
                CREATE TABLE short_lived (
                    kind text COLLATE "C" NOT NULL,
                    key text COLLATE "C" NOT NULL,
                    value bytea NOT NULL,
                    ends_at bigint NOT NULL,
                    PRIMARY KEY (kind, key)
                )
                """,
                "CREATE INDEX short_lived_by_end ON short_lived (ends_at)",
            ])
    ]

    private static let now = "floor(extract(epoch FROM now()))::bigint"

    private let store: PostgresStore

    package init(_ store: PostgresStore) {
        self.store = store
    }

    package func keep(_ values: [ShortLivedValue], _ kind: ShortLivedKind, seconds: Int64) async throws {
        // Distinct, because one statement can change a row only once; sorted by key, to avoid deadlocks.
        let byKey = Dictionary(values.map { (Array($0.key.utf8), $0) }) { $1 }
        let once = byKey.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
        guard !once.isEmpty else { return }
        var parameters = PostgresParameters()
        let (kind, seconds) = (parameters.add(.text(kind.rawValue)), parameters.add(.integer(seconds)))
        let rows = once.map { value in
            "(\(kind), \(parameters.add(.text(value.key))), \(parameters.add(.bytes(value.value))),"
                + " \(Self.now) + \(seconds))"
        }
        try await store.run(
            """
            INSERT INTO short_lived (kind, key, value, ends_at) VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, ends_at = excluded.ends_at
            """, parameters.values)
    }

    package func values(_ kind: ShortLivedKind, by keys: [String]) async throws -> [ShortLivedValue] {
        guard !keys.isEmpty else { return [] }
        return try await store.rows(
            """
            SELECT key, value FROM short_lived
            WHERE kind = $1 AND key = ANY ($2::text[]) AND ends_at > \(Self.now)
            """, [.text(kind.rawValue), .array(keys)]
        ).map { ShortLivedValue(key: try $0.text("key"), value: try $0.bytes("value")) }
    }

    package func take(_ kind: ShortLivedKind, by key: String) async throws -> [UInt8]? {
        try await store.rows(
            "DELETE FROM short_lived WHERE kind = $1 AND key = $2 AND ends_at > \(Self.now) RETURNING value",
            [.text(kind.rawValue), .text(key)]
        ).first?.bytes("value")
    }

    package func removeEnded() async throws {
        try await store.removeEnded(from: "short_lived", key: ["kind", "key"], where: "ends_at <= \(Self.now)", [])
    }
}
