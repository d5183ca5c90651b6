internal import Postgres
internal import Store

extension PostgresStore {
    /// All schema steps, in order. Each runs once; a published step is never changed.
    ///
    /// Steps only add, so that the previous version works with the schema during a rolling update. For the same reason
    /// statements name the columns that they read and write.
    static let migrations: [Migration] =
        PostgresSessions.migrations + PostgresAuthorizationCodes.migrations + PostgresRevocations.migrations
        + PostgresLimits.migrations + PostgresOutbox.migrations + PostgresUsers.migrations
        + PostgresClock.migrations + PostgresState.migrations
        + PostgresKeyRings.migrations
        + PostgresReplicas.migrations + PostgresSupersededSessions.migrations
        + PostgresPasswordChanges.migrations
        + PostgresShortLived.migrations + PostgresACME.migrations

    /// Migrates the database to the current schema. If several gateways start at once, one migrates and the others
    /// wait.
    ///
    /// - Returns: the number of schema steps, including those of newer versions.
    /// - Throws: PostgreSQL's error, and ``StoreError/newerSchema(_:)`` if there are unknown steps that this version
    ///   does not work with.
    @discardableResult
    package func migrate() async throws -> Int {
        try await migrate(Self.migrations)
    }

    @discardableResult
    func migrate(_ migrations: [Migration]) async throws -> Int {
        // A connection returned within a transaction is closed, which rolls the transaction back.
        try await pool.withConnection { connection in
            // With a stricter default, another gateway's steps would be invisible after the wait for them.
            _ = try await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED")
            let count = try await Self.migrate(connection, migrations)
            _ = try await connection.query("COMMIT")
            return count
        }
    }

    private static func migrate(_ connection: PostgresConnection, _ migrations: [Migration]) async throws -> Int {
        let deadline = ContinuousClock.now + patience
        func run(_ sql: String, _ values: [PostgresValue] = []) async throws -> PostgresRows {
            try await connection.query(sql, values, deadline: deadline)
        }
        // Steps, and the wait for another gateway's, may take longer than ordinary statements.
        for limit in ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"] {
            _ = try await run("SET LOCAL \(limit) = '\(patience.components.seconds)s'")
        }
        _ = try await run("SELECT pg_advisory_xact_lock($1)", [.integer(lockKey)])
        // If the tables exist, the right to create tables is not needed.
        let exists = try await run("SELECT to_regclass('gatehouse_migrations') IS NOT NULL")
        if exists.first != [.boolean(true)] { _ = try await run(table) }
        let known = try await run(knownSteps).rows
        let names = known.compactMap(\.first)
        let unknown = known.filter { row in !migrations.contains { .text($0.name) == row[0] } }
        let breaking = unknown.filter { $0[1] != .boolean(true) }.compactMap { Self.text($0[0]) }
        guard breaking.isEmpty else { throw StoreError.newerSchema(breaking) }
        for step in migrations where !names.contains(.text(step.name)) {
            for statement in step.statements { _ = try await run(statement) }
            _ = try await run(
                "INSERT INTO gatehouse_migrations (name, keeps_older_working) VALUES ($1, $2)",
                [.text(step.name), .boolean(step.keepsOlderWorking)])
        }
        return unknown.count + migrations.count
    }

    /// The time limit of a migration, including the wait for another gateway's.
    private static let patience = Duration.seconds(60)

    /// An arbitrary constant that identifies the lock: "gatehous" in ASCII.
    private static let lockKey: Int64 = 0x6761_7465_686F_7573

    static let knownSteps = "SELECT name, keeps_older_working FROM gatehouse_migrations ORDER BY name"

    private static let table = """
        CREATE TABLE gatehouse_migrations (
            name text COLLATE "C" PRIMARY KEY,
            keeps_older_working boolean NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """

    /// The names of the tables that the steps create.
    static var tables: [String] {
        let made = "CREATE TABLE "
        let names = migrations.flatMap(\.statements).filter { $0.hasPrefix(made) }
            .compactMap { $0.dropFirst(made.count).split(separator: " ").first.map(String.init) }
        return ["gatehouse_migrations"] + names
    }

    private static func text(_ value: PostgresValue) -> String? {
        guard case .text(let text) = value else { return nil }
        return text
    }
}
