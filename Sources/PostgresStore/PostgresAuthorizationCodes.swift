internal import Postgres
package import Store

/// Authorization codes in PostgreSQL.
package struct PostgresAuthorizationCodes: AuthorizationCodeRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "authorization-codes-1",
            statements: [
                """
                CREATE TABLE authorization_codes (
                    hash bytea PRIMARY KEY,
                    sign_in_id bytea NOT NULL UNIQUE,
                    pool_id text COLLATE "C" NOT NULL,
                    result bytea,
                    family bytea NOT NULL,
                    expires_at bigint NOT NULL,
                    forget_at bigint NOT NULL,
                    used_at bigint
                )
                """,
                "CREATE INDEX authorization_codes_by_end ON authorization_codes (forget_at)",
            ])
    ]

    private static let memory = StoredAuthorizationCodes.memory
    /// How long the results of codes that expired unused stay, for ``takeUnused(poolID:now:limit:)``.
    private static let memoryOfUnused: Int64 = 300

    private let store: PostgresStore
    private let clock: any RecordClock

    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool {
        let sql = """
            INSERT INTO authorization_codes (hash, sign_in_id, pool_id, result, family, expires_at, forget_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
            """
        let values: [PostgresValue] = [
            .bytes(record.hash), .bytes(record.signInID), .text(record.poolID), .bytes(record.result),
            .bytes(record.family), .integer(record.expiresAt), .integer(record.expiresAt + Self.memory),
        ]
        return try await store.run(sql, values) > 0
    }

    package func state(
        of hash: [UInt8], poolID: String, now: Int64
    ) async throws -> AuthorizationCodeState {
        let sql = """
            SELECT result, family, used_at, expires_at FROM authorization_codes WHERE hash = $1 AND pool_id = $2
            """
        guard let found = try await store.rows(sql, [.bytes(hash), .text(poolID)]).first else { return .unknown }
        let family = try found.bytes("family")
        if try found.optional(PostgresRow.integer, "used_at") != nil { return .used(family: family) }
        guard let result = try found.optional(PostgresRow.bytes, "result"),
            try found.integer("expires_at") > clock.sharedTime(now)
        else { return .unknown }
        return .open(result: result, family: family)
    }

    package func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool {
        let sql = Self.use(code: "$1", poolID: "$2", now: "$3")
        return try await store.run(sql, [.bytes(hash), .text(poolID), .integer(clock.sharedTime(now))]) > 0
    }

    /// SQL that marks a code as used. The statement both decides and writes: of several concurrent uses of a code, one
    /// gets a row.
    static func use(code: String, poolID: String, now: String) -> String {
        """
        UPDATE authorization_codes SET used_at = \(now), result = NULL
        WHERE hash = \(code) AND pool_id = \(poolID) AND used_at IS NULL AND expires_at > \(now) RETURNING 1
        """
    }

    package func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]] {
        // Rows that another gateway is taking are skipped.
        let sql = """
            WITH taken AS MATERIALIZED (
                SELECT hash, result FROM authorization_codes
                WHERE forget_at <= $1 AND pool_id = $2 AND used_at IS NULL AND result IS NOT NULL
                LIMIT $3 FOR UPDATE SKIP LOCKED)
            UPDATE authorization_codes AS c SET result = NULL FROM taken WHERE c.hash = taken.hash
            RETURNING taken.result
            """
        let end = clock.pruningTime(now) + Self.memory
        return try await store.rows(sql, [.integer(end), .text(poolID), .integer(Int64(limit))])
            .map { try $0.bytes("result") }
    }

    package func removeEnded(now: Int64) async throws {
        let pruning = clock.pruningTime(now)
        try await store.removeEnded(
            from: "authorization_codes", key: ["hash"], where: "forget_at <= $1", [.integer(pruning)])
        try await store.clearEnded(
            "result", in: "authorization_codes", key: ["hash"], where: "expires_at <= $1",
            [.integer(pruning - Self.memoryOfUnused)])
    }
}
