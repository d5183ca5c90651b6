internal import Postgres
package import Store

/// The gateways that share a database. Times are the database's, in seconds since 1970.
package struct PostgresReplicas: ReplicaRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "replicas-1",
            statements: [
                """
                CREATE TABLE replicas (
                    id text COLLATE "C" PRIMARY KEY,
                    name text COLLATE "C" NOT NULL,
                    version text COLLATE "C" NOT NULL,
                    configuration text COLLATE "C" NOT NULL,
                    started_at bigint NOT NULL,
                    heard_at bigint NOT NULL,
                    ended_at bigint,
                    lost_at bigint,
                    reopened_at bigint,
                    list_origin text COLLATE "C",
                    list_snapshot pg_snapshot,
                    list_read_at bigint
                )
                """
            ])
    ]

    /// A table with responses that a repeated refresh may request.
    package struct Answers: Sendable {
        let table: String
        let key: String
        /// The column with the response.
        let answer: String
    }

    private static let now = "extract(epoch FROM clock_timestamp())::bigint"
    /// The maximum number of rows that one statement reopens.
    private static let openedAtOnce: Int64 = 500

    private let store: PostgresStore
    private let answers: [Answers]

    /// - Parameter answers: the tables whose retry windows are reopened.
    package init(_ store: PostgresStore, answers: [Answers] = [PostgresSessions.answers, PostgresUsers.answers]) {
        self.store = store
        self.answers = answers
    }

    /// A report is worthless after a power loss, so it does not wait for the disk.
    package func report(_ report: ReplicaReport) async throws {
        let sql = """
            INSERT INTO replicas (id, name, version, configuration, started_at, heard_at, list_origin, list_snapshot,
                list_read_at)
            SELECT $1, $2, $3, $4, c.now, c.now, $5, $6::pg_snapshot, c.now - $7
            FROM (
                SELECT \(Self.now) AS now, set_config('synchronous_commit', 'off', TRUE) AS is_set
            ) AS c WHERE c.is_set IS NOT NULL
            ON CONFLICT (id) DO UPDATE SET
                name = excluded.name, version = excluded.version, configuration = excluded.configuration,
                heard_at = excluded.heard_at, ended_at = NULL, lost_at = NULL, reopened_at = NULL,
                list_origin = excluded.list_origin, list_snapshot = excluded.list_snapshot,
                list_read_at = excluded.list_read_at
            """
        let list = report.list
        try await store.run(
            sql,
            [
                .text(report.id), .text(report.name), .text(report.version), .text(report.configuration),
                .orNull(list?.position.origin), .orNull(list?.position.mark), .orNull(list?.age),
            ])
    }

    package func end(_ id: String) async throws {
        try await store.run("UPDATE replicas SET ended_at = \(Self.now) WHERE id = $1", [.text(id)])
    }

    /// One gateway finds the lost ones, but any may reopen the windows: if one is killed in between, another takes
    /// over.
    ///
    /// A heartbeat far later than now was stored while the clock was ahead, and none has arrived since the clock was
    /// corrected. It counts as received now.
    package func takeUpLost() async throws -> [String] {
        try await store.run(
            """
            UPDATE replicas SET heard_at = \(Self.now)
            WHERE ended_at IS NULL AND lost_at IS NULL AND heard_at > \(Self.now) + \(ReplicaTimes.silence)
            """)
        let found = try await store.rows(
            """
            WITH silent AS MATERIALIZED (
                SELECT id FROM replicas
                WHERE ended_at IS NULL AND lost_at IS NULL AND heard_at < \(Self.now) - \(ReplicaTimes.silence)
                ORDER BY id FOR UPDATE SKIP LOCKED
            )
            UPDATE replicas AS r SET lost_at = \(Self.now) FROM silent WHERE r.id = silent.id RETURNING r.name
            """
        ).map { try $0.text("name") }
        let unopened = try await store.rows(
            "SELECT id, heard_at, lost_at FROM replicas WHERE lost_at IS NOT NULL AND reopened_at IS NULL ORDER BY id")
        for row in unopened {
            for table in answers {
                try await reopen(table, openAt: row.integer("heard_at"), lostAt: row.integer("lost_at"))
            }
            try await store.run(
                "UPDATE replicas SET reopened_at = \(Self.now) WHERE id = $1 AND lost_at = $2",
                [.text(row.text("id")), .integer(row.integer("lost_at"))])
        }
        return found
    }

    /// Reopens the windows that were open at a time, each once and until the same second, whichever gateway does it.
    private func reopen(_ answers: Answers, openAt: Int64, lostAt: Int64) async throws {
        let (table, key) = (answers.table, answers.key)
        let sql = """
            WITH chosen AS MATERIALIZED (
                SELECT \(key), refreshed_at FROM \(table)
                WHERE \(answers.answer) IS NOT NULL AND refreshed_at >= $1 AND refreshed_at <= $2 AND retry_until < $3
                ORDER BY refreshed_at LIMIT \(Self.openedAtOnce) FOR UPDATE SKIP LOCKED
            ), opened AS (
                UPDATE \(table) AS t SET retry_until = $3 FROM chosen WHERE t.\(key) = chosen.\(key)
            )
            SELECT count(*) AS count, max(refreshed_at) AS last FROM chosen
            """
        // Repeats until nothing is found, so that windows that another gateway failed to reopen are covered too.
        var opened: Int64
        repeat {
            opened = 0
            var earliest: Int64? = openAt - RetryWindows.window
            while let first = earliest {
                let values: [PostgresValue] = [
                    .integer(first), .integer(lostAt), .integer(lostAt + RetryWindows.window),
                ]
                guard let row = try await store.rows(sql, values).first else { throw StoreError.rowVanished }
                let count = try row.integer("count")
                opened += count
                // Continues where the previous statement ended, so that finished rows are not scanned again.
                earliest = count == Self.openedAtOnce ? try row.optional(PostgresRow.integer, "last") : nil
            }
        } while opened > 0
    }

    package func all() async throws -> [Replica] {
        try await store.rows(
            """
            SELECT id, name, version, configuration, started_at, c.now - heard_at AS silence,
                c.now - list_read_at AS list_age, ended_at IS NOT NULL AS has_ended,
                heard_at < c.now - \(ReplicaTimes.silence) AS is_silent
            FROM replicas, (SELECT \(Self.now) AS now) AS c ORDER BY name, started_at, id
            """
        ).map { row in
            Replica(
                id: try row.text("id"), name: try row.text("name"), version: try row.text("version"),
                configuration: try row.text("configuration"),
                state: try row.boolean("has_ended") ? .ended : try row.boolean("is_silent") ? .lost : .alive,
                startedAt: try row.integer("started_at"), silence: max(0, try row.integer("silence")),
                listAge: try row.optional(PostgresRow.integer, "list_age").map { max(0, $0) })
        }
    }

    package func removeGone(silence: Int64) async throws {
        let condition = """
            ended_at < \(Self.now) - \(ReplicaTimes.endedMemory)
            OR reopened_at IS NOT NULL AND heard_at < \(Self.now) - $1
            """
        try await store.removeEnded(
            from: "replicas", key: ["id"], where: condition, [.integer(max(silence, ReplicaTimes.lostMemory))])
    }

    // MARK: Confirmations

    package func position() async throws -> ChangePosition {
        let sql = "SELECT pg_current_snapshot()::text AS snapshot, (\(PostgresOrigin.sql)) AS origin"
        guard let row = try await store.rows(sql).first else { throw PostgresRow.MissingColumn(name: "snapshot") }
        return ChangePosition(origin: try row.text("origin"), mark: try row.text("snapshot"))
    }

    /// A gateway has read a change if its snapshot sees the transaction. All changes seen by the position's snapshot
    /// must therefore be seen by the gateway's, on the same timeline of the database.
    package func confirmations(of position: ChangePosition, silence: Int64) async throws -> Confirmations {
        let sql = """
            SELECT count(*) AS every, count(*) FILTER (
                WHERE r.list_origin = $1 AND r.list_origin = o.origin AND NOT EXISTS (
                    SELECT FROM revocations AS v
                    WHERE v.changed >= pg_snapshot_xmin(r.list_snapshot)
                        AND NOT pg_visible_in_snapshot(v.changed, r.list_snapshot)
                        AND pg_visible_in_snapshot(v.changed, $2::pg_snapshot))) AS confirmed
            FROM replicas AS r, (SELECT (\(PostgresOrigin.sql)) AS origin) AS o
            WHERE r.ended_at IS NULL AND r.heard_at >= \(Self.now) - $3
            """
        let values: [PostgresValue] = [.text(position.origin), .text(position.mark), .integer(silence)]
        guard let row = try await store.rows(sql, values).first else { throw PostgresRow.MissingColumn(name: "every") }
        return Confirmations(confirmed: Int(try row.integer("confirmed")), all: Int(try row.integer("every")))
    }
}

extension PostgresUsers {
    /// The tokens that replaced others.
    package static let answers = PostgresReplicas.Answers(table: "user_sessions", key: "id", answer: "successor")
}

extension PostgresSessions {
    /// The responses to refreshes.
    package static let answers = PostgresReplicas.Answers(table: "sessions", key: "family", answer: "answer")
}
