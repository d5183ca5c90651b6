internal import Postgres
package import Store

extension PostgresUsers: UserSessionRecords {
    package func session(_ id: String) async throws -> (session: UserSessionRecord, user: UserRecord)? {
        guard id.mayBeStored else { return nil }
        let sql = """
            SELECT \(Self.sessionList), \(Self.userList(prefix: "u_"))
            FROM user_sessions AS s JOIN users AS u ON u.id = s.user_id WHERE s.id = $1
            """
        return try await store.rows(sql, [.text(id)]).first.map {
            (try UserSessionRecord($0), try UserRecord($0, prefix: "u_"))
        }
    }

    package func advance(to record: UserSessionRecord) async throws -> UserSessionStep {
        let sql = """
            UPDATE user_sessions AS s SET rotation = $2, successor = $3::bytea, retry_until = 0, refreshed_at = $4,
                expires_at = $5, previous_expires_at = GREATEST(s.previous_expires_at, s.expires_at, $6), ends_at = $7,
                changed = pg_current_xact_id()
            WHERE s.id = $1 AND s.rotation < $2 AND s.ended_at IS NULL
                AND EXISTS (SELECT FROM users AS u WHERE u.id = s.user_id AND u.disabled_at IS NULL)
            """
        let isTaken =
            try await store.run(
                sql,
                [
                    .text(record.id), .integer(record.rotation), .optional(record.successor),
                    .integer(record.refreshedAt), .integer(record.expiresAt), .integer(record.previousExpiresAt),
                    .integer(record.endsAt),
                ]) > 0
        if isTaken { return .taken }
        // The write has waited for a faster writer, so this read sees its result.
        return .overtaken(try await session(record.id)?.session)
    }

    package func renew(_ known: UserSessionRecord, as record: UserSessionRecord) async throws -> UserSessionStep {
        let sql = """
            UPDATE user_sessions AS s SET successor = $1::bytea, retry_until = 0, refreshed_at = $2, expires_at = $3,
                ends_at = $4
            WHERE s.id = $5 AND s.rotation = $6 AND s.refreshed_at = $7 AND s.ended_at IS NULL
                AND EXISTS (SELECT FROM users AS u WHERE u.id = s.user_id AND u.disabled_at IS NULL)
            """
        let isTaken =
            try await store.run(
                sql,
                [
                    .optional(record.successor), .integer(record.refreshedAt), .integer(record.expiresAt),
                    .integer(record.endsAt), .text(known.id), .integer(known.rotation), .integer(known.refreshedAt),
                ]) > 0
        if isTaken { return .taken }
        // The write has waited for a faster writer, so this read sees its result.
        return .overtaken(try await session(known.id)?.session)
    }

    package func end(_ id: String, at now: Int64) async throws -> Bool {
        try await store.run(
            "UPDATE user_sessions SET ended_at = $1, successor = NULL WHERE id = $2 AND ended_at IS NULL",
            [.integer(clock.sharedTime(now)), .text(id)]) > 0
    }

    package func endAll(of userID: String, at now: Int64) async throws -> [UserSessionRecord] {
        // The row lock decides: a caller that waits for it finds the session ended, so that no session is returned to
        // two callers. `s` is the newest version of each row.
        let sql = """
            WITH s AS MATERIALIZED (
                SELECT \(Self.names(Self.sessionColumns)) FROM user_sessions
                WHERE user_id = $2 AND ended_at IS NULL ORDER BY id FOR UPDATE
            ), ended AS (
                UPDATE user_sessions AS e SET ended_at = $1, successor = NULL
                FROM s WHERE e.id = s.id RETURNING \(Self.sessionList)
            )
            SELECT \(Self.names(Self.sessionColumns)) FROM ended ORDER BY id
            """
        return try await store.rows(sql, [.integer(clock.sharedTime(now)), .text(userID)])
            .map { try UserSessionRecord($0) }
    }

    package func hasEnded(atLeast count: Int, of userID: String) async throws -> Bool {
        guard count > 0 else { return true }
        return try await !store.rows(
            "SELECT 1 FROM user_sessions WHERE user_id = $1 AND ended_at IS NOT NULL LIMIT 1 OFFSET $2",
            [.text(userID), .integer(count - 1)]
        ).isEmpty
    }

    package func sessions(of userID: String) async throws -> [UserSessionRecord] {
        guard userID.mayBeStored else { return [] }
        return try await store.rows(
            "SELECT \(Self.sessionList) FROM user_sessions AS s WHERE s.user_id = $1 ORDER BY s.created_at, s.id",
            [.text(userID)]
        ).map { try UserSessionRecord($0) }
    }

    package func superseded(
        since position: ChangePosition?, now: Int64, limit: Int
    ) async throws -> SupersededReading {
        try await PostgresSupersededSessions(store, clock: clock).read(since: position, now: now, limit: limit)
    }

    package func removeEnded(now: Int64) async throws {
        let earliest = clock.pruningTime(now)
        let latest = max(clock.latestTime(now), clock.sharedTime(now))
        try await store.removeEnded(from: "user_sessions", key: ["id"], where: "ends_at <= $1", [.integer(earliest)])
        try await store.removeEnded(from: "spent", key: ["digest"], where: "ends_at <= $1", [.integer(earliest)])
        // The negation of RetryWindows.isOpen(refreshedAt:retryUntil:now:), by any clock that may be right.
        try await store.clearEnded(
            "successor", in: "user_sessions", key: ["id"],
            where: "(refreshed_at < $1 OR refreshed_at > $2) AND (retry_until < $3 OR retry_until > $2)",
            [.integer(earliest - RetryWindows.window), .integer(latest + RetryWindows.window), .integer(earliest)])
    }

    // MARK: Columns

    /// The columns with their types: a NULL parameter has no type of its own.
    static let sessionColumns: [(name: String, type: String)] = [
        ("id", "text"), ("user_id", "text"), ("rotation", "bigint"), ("successor", "bytea"),
        ("retry_until", "bigint"), ("auth_time", "bigint"), ("device_id", "text"), ("platform", "text"),
        ("created_at", "bigint"), ("refreshed_at", "bigint"), ("expires_at", "bigint"),
        ("previous_expires_at", "bigint"), ("ends_at", "bigint"), ("ended_at", "bigint"), ("device_name", "text"),
        ("device_model", "text"), ("os_version", "text"), ("app_version", "text"),
    ]

    /// The columns, qualified with the alias `s`.
    private static let sessionList = sessionColumns.map { "s.\($0.name)" }.joined(separator: ", ")
}

extension SupersededSession {
    init(_ row: PostgresRow) throws {
        self.init(
            id: try row.text("id"), rotation: try row.integer("rotation"),
            refreshedAt: try row.integer("refreshed_at"), expiresAt: try row.integer("previous_expires_at"))
    }
}

extension UserSessionRecord {
    /// The values in the order of the columns.
    var values: [PostgresValue] {
        [
            .text(id), .text(userID), .integer(rotation), .optional(successor), .integer(retryUntil),
            .integer(authTime), .optional(deviceID), .optional(platform), .integer(createdAt), .integer(refreshedAt),
            .integer(expiresAt), .integer(previousExpiresAt), .integer(endsAt), .optional(endedAt),
            .optional(device.name), .optional(device.model), .optional(device.osVersion),
            .optional(device.appVersion),
        ]
    }

    fileprivate init(_ row: PostgresRow) throws {
        let device = SessionDevice(
            name: try row.optional(PostgresRow.text, "device_name"),
            model: try row.optional(PostgresRow.text, "device_model"),
            osVersion: try row.optional(PostgresRow.text, "os_version"),
            appVersion: try row.optional(PostgresRow.text, "app_version"))
        self.init(
            id: try row.text("id"), userID: try row.text("user_id"), rotation: try row.integer("rotation"),
            successor: try row.optional(PostgresRow.bytes, "successor"), retryUntil: try row.integer("retry_until"),
            authTime: try row.integer("auth_time"), deviceID: try row.optional(PostgresRow.text, "device_id"),
            platform: try row.optional(PostgresRow.text, "platform"), device: device,
            createdAt: try row.integer("created_at"), refreshedAt: try row.integer("refreshed_at"),
            expiresAt: try row.integer("expires_at"), previousExpiresAt: try row.integer("previous_expires_at"),
            endsAt: try row.integer("ends_at"), endedAt: try row.optional(PostgresRow.integer, "ended_at"))
    }
}
