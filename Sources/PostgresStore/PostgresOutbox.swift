internal import Postgres
package import Store

/// The outbox in PostgreSQL. Its texts are the gateway's own: names, and JSON, in which U+0000 is escaped.
package struct PostgresOutbox: OutboxRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "outbox-1",
            statements: [
                """
                CREATE TABLE outbox (
                    key text COLLATE "C" PRIMARY KEY,
                    destination text COLLATE "C" NOT NULL,
                    kind text NOT NULL,
                    subject text,
                    body text NOT NULL,
                    created_at bigint NOT NULL,
                    due_at bigint NOT NULL,
                    attempts bigint NOT NULL,
                    must_arrive boolean NOT NULL
                )
                """,
                "CREATE INDEX outbox_by_creation ON outbox (created_at)",
                "CREATE INDEX outbox_by_destination ON outbox (destination, due_at)",
                "CREATE INDEX outbox_by_room ON outbox (destination, must_arrive)",
            ])
    ]

    /// The largest difference between two processes' leases, in milliseconds.
    private static let leaseDifference: Int64 = 60_000

    private let store: PostgresStore
    private let clock: any RecordClock

    /// - Parameter clock: the clock by which messages are given up, as protection against a time of day that is ahead.
    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func add(_ message: OutboxMessage) async throws -> Bool {
        let parameters = Self.columns.enumerated().map { "$\($0 + 1)::\($1.type)" }.joined(separator: ", ")
        let names = Self.columns.map(\.name).joined(separator: ", ")
        let added = try await store.run(
            """
            WITH replaced AS (
                DELETE FROM outbox WHERE $10::boolean AND destination = $2::text AND subject = $4::text AND NOT must_arrive
            )
            INSERT INTO outbox (\(names)) VALUES (\(parameters)) ON CONFLICT DO NOTHING
            """,
            Self.values(of: message.shared(clock)) + [.boolean(message.isOfDeletion)])
        return added > 0
    }

    /// The columns with their types: a NULL parameter has no type of its own.
    static let columns: [(name: String, type: String)] = [
        ("key", "text"), ("destination", "text"), ("kind", "text"), ("subject", "text"), ("body", "text"),
        ("created_at", "bigint"), ("due_at", "bigint"), ("attempts", "bigint"), ("must_arrive", "boolean"),
    ]

    /// The columns, qualified with the alias `l`.
    private static let columnList = columns.map { "l.\($0.name)" }.joined(separator: ", ")

    /// The values in the order of the columns.
    static func values(of message: OutboxMessage) -> [PostgresValue] {
        [
            .text(message.key), .text(message.destination), .text(message.kind), .optional(message.subject),
            .text(message.body), .integer(message.createdAt), .integer(message.dueAt), .integer(message.attempts),
            .boolean(message.mustArrive),
        ]
    }

    package func claim(
        for destination: String, now: Int64, lease: Int64, longestPause: Int64, limit: Int
    ) async throws -> [OutboxMessage] {
        let now = clock.sharedMilliseconds(now)
        // Attempts are clamped to the range of the shift and the column, whatever value is stored. Rows that another
        // process is claiming are skipped.
        return try await store.rows(
            """
            WITH due AS MATERIALIZED (
                SELECT key FROM outbox WHERE destination = $3 AND due_at <= $4
                ORDER BY due_at, created_at LIMIT $6 FOR UPDATE SKIP LOCKED),
            ahead AS MATERIALIZED (
                SELECT key FROM outbox WHERE destination = $3 AND due_at > $5 LIMIT $6 FOR UPDATE SKIP LOCKED),
            chosen AS MATERIALIZED (SELECT key FROM due UNION ALL SELECT key FROM ahead LIMIT $6)
            UPDATE outbox AS l SET
                due_at = $1 + LEAST(1000::bigint << LEAST(GREATEST(l.attempts, 0), 20)::integer, $2),
                attempts = LEAST(GREATEST(l.attempts, 0), 1000000) + 1
            FROM chosen WHERE l.key = chosen.key
            RETURNING \(Self.columnList)
            """,
            [
                .integer(now + lease), .integer(longestPause), .text(destination), .integer(now),
                .integer(now + lease + longestPause + Self.leaseDifference), .integer(limit),
            ]
        ).map(OutboxMessage.init).sorted { $0.createdAt < $1.createdAt }
    }

    package func remove(key: String) async throws {
        try await store.run("DELETE FROM outbox WHERE key = $1", [.text(key)])
    }

    package func postpone(key: String, until: Int64) async throws {
        try await store.run("UPDATE outbox SET due_at = $1 WHERE key = $2", [.integer(until), .text(key)])
    }

    package func removeOlder(than age: Int64, now: Int64) async throws -> [OutboxMessage] {
        let time = min(now, (clock.pruningTime(now / 1000) + 1) * 1000) - age
        return try await store.rows(
            """
            WITH chosen AS MATERIALIZED (
                SELECT key FROM outbox WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
            DELETE FROM outbox AS l USING chosen WHERE l.key = chosen.key RETURNING \(Self.columnList)
            """, [.integer(time), .integer(PostgresStore.removedAtOnce)]
        ).map(OutboxMessage.init)
    }

    package func counts() async throws -> [OutboxCount] {
        try await store.rows(
            "SELECT destination, must_arrive, count(*) AS n FROM outbox GROUP BY destination, must_arrive"
        ).map { row in
            OutboxCount(
                destination: try row.text("destination"), mustArrive: try row.boolean("must_arrive"),
                count: Int(try row.integer("n")))
        }
    }
}

extension OutboxMessage {
    /// The message with its times converted to the clock that all gateways share. It must have been created just now.
    func shared(_ clock: any RecordClock) -> OutboxMessage {
        var message = self
        message.createdAt = clock.sharedMilliseconds(createdAt)
        message.dueAt += message.createdAt - createdAt
        return message
    }

    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            key: try row.text("key"), destination: try row.text("destination"), kind: try row.text("kind"),
            subject: try row.optional(PostgresRow.text, "subject"), body: try row.text("body"),
            createdAt: try row.integer("created_at"), mustArrive: try row.boolean("must_arrive"))
        dueAt = try row.integer("due_at")
        attempts = Int(try row.integer("attempts"))
    }
}
