internal import Postgres
package import Store

/// Sessions in PostgreSQL. Expired rows are removed only by ``removeEnded(now:)``, so that a refresh locks only its own
/// row.
package struct PostgresSessions: SessionRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "sessions-1",
            statements: [
                """
                CREATE TABLE sessions (
                    family bytea PRIMARY KEY,
                    pool_id text COLLATE "C" NOT NULL,
                    subject text COLLATE "C" NOT NULL,
                    origin_id text COLLATE "C",
                    device_id text COLLATE "C",
                    platform text COLLATE "C",
                    generation bigint NOT NULL,
                    token bytea NOT NULL,
                    answer bytea,
                    retry_until bigint NOT NULL,
                    signed_in_at bigint NOT NULL,
                    refreshed_at bigint NOT NULL,
                    ends_at bigint NOT NULL,
                    ended_at bigint,
                    device_name text COLLATE "C",
                    device_model text COLLATE "C",
                    os_version text COLLATE "C",
                    app_version text COLLATE "C"
                )
                """,
                "CREATE INDEX sessions_by_subject ON sessions (pool_id, subject)",
                "CREATE INDEX sessions_by_origin ON sessions (origin_id) WHERE origin_id IS NOT NULL",
                "CREATE INDEX sessions_by_end ON sessions (ends_at)",
                "CREATE INDEX sessions_by_answer ON sessions (refreshed_at) WHERE answer IS NOT NULL",
            ]),
        accountNames, PostgresDirectSessions.migration, leases,
        PostgresStore.Migration(
            name: "sessions-2",
            statements: [
                // docs/postgres.md tells operators of large databases to create this index beforehand, without a lock.
                """
                CREATE INDEX IF NOT EXISTS sessions_open ON sessions (pool_id, subject, signed_in_at)
                    WHERE ended_at IS NULL
                """
            ]),
    ]

    let store: PostgresStore
    private let clock: any RecordClock

    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool {
        guard let code else { return try await put(record, update: "TRUE") }
        // Of several concurrent uses of the code, all but one wait here, find it used, and insert nothing.
        let use = PostgresAuthorizationCodes.use(
            code: "$\(Self.columns.count + 1)", poolID: "$2::text", now: "$\(Self.columns.count + 2)")
        return try await put(
            record, with: "used AS (\(use)),", where: "EXISTS (SELECT FROM used)", update: "TRUE",
            [.bytes(code), .integer(clock.sharedTime(record.refreshedAt))])
    }

    package func session(_ family: [UInt8]) async throws -> SessionRecord? {
        try await store.rows("SELECT \(Self.list) FROM sessions WHERE family = $1", [.bytes(family)]).first
            .map(SessionRecord.init)
    }

    package func advance(to record: SessionRecord) async throws -> SessionStep {
        if try await put(record, update: "s.generation < excluded.generation AND s.ended_at IS NULL") { return .taken }
        return try await overtaken(record.family)
    }

    package func advanceStored(to record: SessionRecord) async throws -> SessionStep {
        let isTaken =
            try await store.run(
                """
                UPDATE sessions SET generation = $1, token = $2, answer = $3::bytea, retry_until = $4,
                    refreshed_at = $5, lease_holder = NULL, lease_ends_at = NULL
                WHERE family = $6 AND generation < $1 AND ended_at IS NULL
                """,
                [
                    .integer(record.generation), .bytes(record.token), .orNull(record.answer),
                    .integer(record.retryUntil), .integer(record.refreshedAt), .bytes(record.family),
                ]) > 0
        return isTaken ? .taken : try await overtaken(record.family)
    }

    /// The write has waited for a faster writer, so this read sees its result.
    private func overtaken(_ family: [UInt8]) async throws -> SessionStep {
        try await session(family).map(SessionStep.overtaken) ?? .gone
    }

    package func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep {
        let isTaken =
            try await store.run(
                """
                UPDATE sessions SET token = $1, answer = $2::bytea, retry_until = 0, refreshed_at = $3,
                    lease_holder = NULL, lease_ends_at = NULL
                WHERE family = $4 AND generation = $5 AND token = $6 AND refreshed_at = $7 AND ended_at IS NULL
                """,
                [
                    .bytes(record.token), .orNull(record.answer), .integer(record.refreshedAt), .bytes(known.family),
                    .integer(known.generation), .bytes(known.token), .integer(known.refreshedAt),
                ]) > 0
        return isTaken ? .taken : try await overtaken(known.family)
    }

    package func end(
        family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64
    ) async throws -> [SessionRecord] {
        guard family != nil || !originIDs.isEmpty else { return [] }
        return try await end(
            where: "(family = $3::bytea OR origin_id = ANY ($4::text[]))", poolID: poolID, at: now,
            [.orNull(family), .array(originIDs.sorted())])
    }

    package func endAll(
        subject: String, poolID: String, except family: [UInt8]?, at now: Int64
    ) async throws -> [SessionRecord] {
        try await end(
            where: "subject = $3 AND family IS DISTINCT FROM $4::bytea", poolID: poolID, at: now,
            [.text(subject), .orNull(family)])
    }

    package func open(subject: String, poolID: String) async throws -> [SessionRecord] {
        try await read("(\(Self.newestOpen))", subject, poolID)
    }

    package func all(subject: String, poolID: String) async throws -> [SessionRecord] {
        let ended = """
            SELECT \(Self.list) FROM sessions
            WHERE pool_id = $1 AND subject = $2 AND ended_at IS NOT NULL LIMIT \(SessionRecord.readAtMost)
            """
        return try await read("((\(Self.newestOpen)) UNION ALL (\(ended)))", subject, poolID)
    }

    private static let newestOpen = """
        SELECT \(list) FROM sessions WHERE pool_id = $1 AND subject = $2 AND ended_at IS NULL
        ORDER BY signed_in_at DESC LIMIT \(SessionRecord.readAtMost)
        """

    private func read(_ meant: String, _ subject: String, _ poolID: String) async throws -> [SessionRecord] {
        try await store.rows(
            "SELECT \(Self.list) FROM \(meant) AS meant ORDER BY signed_in_at, family",
            [.text(poolID), .text(subject)]
        ).map(SessionRecord.init)
    }

    package func forget(subject: String, poolID: String) async throws {
        // Rows are locked in key order everywhere, to avoid deadlocks.
        try await store.run(
            """
            WITH meant AS MATERIALIZED (
                SELECT family FROM sessions WHERE pool_id = $1 AND subject = $2 ORDER BY family FOR UPDATE
            ), names AS MATERIALIZED (
                SELECT name FROM account_names WHERE pool_id = $1 AND subject = $2 ORDER BY name FOR UPDATE
            ), direct AS MATERIALIZED (
                SELECT digest FROM direct_sessions WHERE pool_id = $1 AND subject = $2 ORDER BY digest FOR UPDATE
            ), forgotten AS (
                DELETE FROM account_names AS a USING names AS n
                WHERE a.pool_id = $1 AND a.name = n.name AND a.subject = $2
            ), forgotten_too AS (
                DELETE FROM direct_sessions AS d USING direct AS f
                WHERE d.pool_id = $1 AND d.digest = f.digest AND d.subject = $2
            )
            DELETE FROM sessions AS s USING meant AS m WHERE s.family = m.family
            """,
            [.text(poolID), .text(subject)])
    }

    package func removeEnded(now: Int64) async throws {
        let earliest = clock.pruningTime(now)
        let latest = max(clock.latestTime(now), clock.sharedTime(now))
        try await store.removeEnded(from: "sessions", key: ["family"], where: "ends_at <= $1", [.integer(earliest)])
        try await store.removeEnded(
            from: "account_names", key: ["pool_id", "name"], where: "ends_at <= $1", [.integer(earliest)])
        // The negation of RetryWindows.isOpen(refreshedAt:retryUntil:now:), by any clock that may be right.
        try await store.clearEnded(
            "answer", in: "sessions", key: ["family"],
            where: "(refreshed_at < $1 OR refreshed_at > $2) AND (retry_until < $3 OR retry_until > $2)",
            [
                .integer(earliest - RetryWindows.window), .integer(latest + RetryWindows.window), .integer(earliest),
            ])
        try await removeEndedLeases()
    }

    // MARK: Statements

    /// The columns with their types: a NULL parameter has no type of its own.
    private static let columns: [(name: String, type: String)] = [
        ("family", "bytea"), ("pool_id", "text"), ("subject", "text"), ("origin_id", "text"), ("device_id", "text"),
        ("platform", "text"), ("generation", "bigint"), ("token", "bytea"), ("answer", "bytea"),
        ("retry_until", "bigint"), ("signed_in_at", "bigint"), ("refreshed_at", "bigint"), ("ends_at", "bigint"),
        ("ended_at", "bigint"), ("device_name", "text"), ("device_model", "text"), ("os_version", "text"),
        ("app_version", "text"),
    ]

    static let list = columns.map(\.name).joined(separator: ", ")

    /// Inserts a record, or advances the stored one to its token. The data about the sign-in itself stays unchanged.
    /// Ends the user's oldest sessions if too many are active; a locked one ends with a later sign-in, so this never
    /// waits for another row.
    ///
    /// - Parameters:
    ///   - with: further common table expressions, each followed by a comma.
    ///   - condition: the condition for writing anything.
    ///   - update: the condition on the stored record `s` for the update, checked on the newest version of the row.
    /// - Returns: whether the record is now the session's.
    private func put(
        _ record: SessionRecord, with: String = "", where condition: String = "TRUE", update: String,
        _ values: [PostgresValue] = []
    ) async throws -> Bool {
        let parameters = Self.columns.enumerated().map { "$\($0 + 1)::\($1.type)" }.joined(separator: ", ")
        let endedAt = "$\(Self.columns.count + values.count + 1)::bigint"
        let sql = """
            WITH \(with) oldest AS MATERIALIZED (
                SELECT family FROM sessions WHERE ended_at IS NULL AND family = ANY (ARRAY(
                    SELECT family FROM sessions
                    WHERE pool_id = $2::text AND subject = $3::text AND ended_at IS NULL AND family <> $1::bytea
                        AND \(condition)
                    ORDER BY signed_in_at DESC LIMIT \(SessionRecord.endedAtOnce) OFFSET \(SessionRecord.openAtMost - 1)))
                FOR UPDATE SKIP LOCKED
            ), ended AS (
                UPDATE sessions AS e SET ended_at = \(endedAt), token = '', answer = NULL
                FROM oldest AS o WHERE e.family = o.family
            )
            INSERT INTO sessions AS s (\(Self.list))
            SELECT \(parameters) WHERE \(condition)
            ON CONFLICT (family) DO UPDATE SET
                generation = excluded.generation, token = excluded.token, answer = excluded.answer,
                retry_until = excluded.retry_until, refreshed_at = excluded.refreshed_at,
                lease_holder = NULL, lease_ends_at = NULL
            WHERE \(update)
            """
        let now = clock.sharedTime(record.refreshedAt)
        return try await store.run(sql, record.values + values + [.integer(now)]) > 0
    }

    /// Ends sessions and clears their tokens. The row lock decides: a caller that waits for it finds the session ended,
    /// so that no session is returned to two callers. `was` is the newest version of each row.
    private func end(
        where condition: String, poolID: String, at now: Int64, _ values: [PostgresValue]
    ) async throws -> [SessionRecord] {
        let was = Self.columns.map { "was.\($0.name)" }.joined(separator: ", ")
        let sql = """
            WITH was AS MATERIALIZED (
                SELECT \(Self.list) FROM sessions
                WHERE pool_id = $2 AND ended_at IS NULL AND \(condition) ORDER BY family FOR UPDATE
            ), ended AS (
                UPDATE sessions AS s SET ended_at = $1, token = '', answer = NULL
                FROM was WHERE s.family = was.family RETURNING \(was)
            )
            SELECT \(Self.list) FROM ended ORDER BY family
            """
        return try await store.rows(sql, [.integer(clock.sharedTime(now)), .text(poolID)] + values)
            .map(SessionRecord.init)
    }
}

extension SessionRecord {
    /// The values in the order of the columns.
    fileprivate var values: [PostgresValue] {
        [
            .bytes(family), .text(poolID), .text(subject), .orNull(originID), .orNull(deviceID),
            .orNull(platform), .integer(generation), .bytes(token), .orNull(answer), .integer(retryUntil),
            .integer(signedInAt), .integer(refreshedAt), .integer(endsAt), .orNull(endedAt), .orNull(device.name),
            .orNull(device.model), .orNull(device.osVersion), .orNull(device.appVersion),
        ]
    }

    init(_ row: PostgresRow) throws {
        let device = SessionDevice(
            name: try row.optional(PostgresRow.text, "device_name"),
            model: try row.optional(PostgresRow.text, "device_model"),
            osVersion: try row.optional(PostgresRow.text, "os_version"),
            appVersion: try row.optional(PostgresRow.text, "app_version"))
        self.init(
            family: try row.bytes("family"), poolID: try row.text("pool_id"), subject: try row.text("subject"),
            originID: try row.optional(PostgresRow.text, "origin_id"),
            deviceID: try row.optional(PostgresRow.text, "device_id"),
            platform: try row.optional(PostgresRow.text, "platform"), device: device,
            generation: try row.integer("generation"), token: try row.bytes("token"),
            answer: try row.optional(PostgresRow.bytes, "answer"), retryUntil: try row.integer("retry_until"),
            signedInAt: try row.integer("signed_in_at"), refreshedAt: try row.integer("refreshed_at"),
            endsAt: try row.integer("ends_at"), endedAt: try row.optional(PostgresRow.integer, "ended_at"))
    }
}
