internal import Postgres
package import Store

extension PostgresUsers: AppleTokenRecords {
    package func keep(_ record: AppleTokenRecord) async throws {
        var parameters = PostgresParameters()
        // Waits for a concurrent deletion of the user; after it, nothing is inserted.
        let sql = """
            INSERT INTO apple_tokens (\(Self.names(Self.tokenColumns)))
            SELECT \(Self.list(Self.tokenColumns, record.values, &parameters)) FROM users WHERE id = $1 FOR KEY SHARE
            ON CONFLICT (user_id, client_id) DO UPDATE SET \(Self.replacedToken)
            """
        try await store.run(sql, parameters.values)
    }

    package func appleTokens(of userID: String) async throws -> [AppleTokenRecord] {
        try await store.rows(
            "SELECT \(Self.names(Self.tokenColumns)) FROM apple_tokens WHERE user_id = $1 ORDER BY client_id",
            [.text(userID)]
        ).map(AppleTokenRecord.init)
    }

    package func claimAppleTokens(
        validatedBefore time: Int64, pause: Int64, now: Int64, limit: Int
    ) async throws -> [AppleTokenRecord] {
        let shared = clock.sharedTime(now)
        let before = time + shared - now
        // A validation in the future was recorded by a wrong clock. Each half is one index search, and rows that
        // another process is claiming are skipped.
        func half(_ condition: String) -> String {
            """
            SELECT \(Self.names(Self.tokenColumns)) FROM apple_tokens WHERE \(condition)
            ORDER BY validated_at LIMIT $3 FOR UPDATE SKIP LOCKED
            """
        }
        let was = Self.tokenColumns.map { "was.\($0.name)" }.joined(separator: ", ")
        return try await store.rows(
            """
            WITH due AS MATERIALIZED (\(half("validated_at < $1"))), ahead AS MATERIALIZED (
                \(half("validated_at > $2"))
            ), was AS MATERIALIZED (
                SELECT *, 1 AS half FROM due UNION ALL SELECT *, 2 FROM ahead ORDER BY half, validated_at LIMIT $3
            ), claimed AS (
                UPDATE apple_tokens AS t SET validated_at = $4 FROM was
                WHERE t.user_id = was.user_id AND t.client_id = was.client_id RETURNING \(was), was.half
            )
            SELECT \(Self.names(Self.tokenColumns)) FROM claimed ORDER BY half, validated_at, user_id, client_id
            """, [.integer(before), .integer(shared), .integer(limit), .integer(before + pause)]
        ).map(AppleTokenRecord.init)
    }

    package func replace(_ record: AppleTokenRecord, by text: [UInt8], validatedAt time: Int64) async throws {
        try await store.run(
            """
            UPDATE apple_tokens SET token = $1, validated_at = $2 WHERE user_id = $3 AND client_id = $4 AND token = $5
            """,
            [
                .bytes(text), .integer(clock.sharedTime(time)), .text(record.userID), .text(record.clientID),
                .bytes(record.token),
            ])
    }

    package func remove(_ record: AppleTokenRecord) async throws {
        try await store.run(
            "DELETE FROM apple_tokens WHERE user_id = $1 AND client_id = $2 AND token = $3",
            [.text(record.userID), .text(record.clientID), .bytes(record.token)])
    }

    // MARK: Columns

    static let tokenColumns: [(name: String, type: String)] = [
        ("user_id", "text"), ("client_id", "text"), ("token", "bytea"), ("kept_at", "bigint"),
        ("validated_at", "bigint"),
    ]

    static let replacedToken =
        "token = excluded.token, kept_at = excluded.kept_at, validated_at = excluded.validated_at"
}

extension AppleTokenRecord {
    /// The values in the order of the columns.
    var values: [PostgresValue] {
        [.text(userID), .text(clientID), .bytes(token), .integer(storedAt), .integer(validatedAt)]
    }

    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            userID: try row.text("user_id"), clientID: try row.text("client_id"), token: try row.bytes("token"),
            storedAt: try row.integer("kept_at"), validatedAt: try row.integer("validated_at"))
    }
}
