import Store
import Testing

@testable import Postgres
@testable import PostgresStore

extension PostgresTests {
    @Suite("Steps of the schema")
    struct Migrations {
        private static let steps = [
            PostgresStore.Migration(
                name: "a-1", statements: ["CREATE TABLE a (n bigint)", "INSERT INTO a VALUES (1)"]),
            PostgresStore.Migration(name: "a-2", statements: ["INSERT INTO a VALUES (2)"]),
        ]

        private func count(_ store: PostgresStore) async throws -> Int64? {
            try await store.rows("SELECT count(*) AS count FROM a").first?.integer("count")
        }

        @Test("Gateways that start at once all start, and each step runs once")
        func together() async throws {
            let database = try await RecordsDatabase(isMigrated: false)
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    let store = database.other()
                    group.addTask { try await store.migrate(Self.steps) }
                }
                try await group.waitForAll()
            }
            #expect(try await count(database.store) == 2)
            #expect(try await database.store.migrate(Self.steps) == 2)
            #expect(try await count(database.store) == 2)
        }

        @Test("A step that fails leaves nothing of those before it in the same start")
        func failure() async throws {
            let store = try await RecordsDatabase(isMigrated: false).store
            let broken = Self.steps + [PostgresStore.Migration(name: "a-3", statements: ["SELECT 1 / 0"])]
            let error = await PostgresTests.error { try await store.migrate(broken) }
            #expect(error?.sqlState == "22012")
            #expect(try await store.rows("SELECT 1 FROM pg_class WHERE relname = 'a'").isEmpty)
            try await store.migrate(Self.steps)
            #expect(try await count(store) == 2)
        }

        private static func steps(keepingOlderWorking: Bool) -> [PostgresStore.Migration] {
            let all = PostgresStore.migrations
            return all + [
                PostgresStore.Migration(
                    name: "newer-1", statements: ["ALTER TABLE users ADD COLUMN newer text"],
                    keepsOlderWorking: keepingOlderWorking)
            ]
        }

        @Test("Beside a newer version that has only added to the schema the one before serves, and starts again")
        func upgrade() async throws {
            let database = try await RecordsDatabase()
            let serving = SharedRecords(
                [database.store, database.other()].map { GatewayRecords($0, LimitedClock()) }, believe: { _ in })
            let first = UserSignIn(
                proof: nil, user: SharedRecords.user("ada"), session: SharedRecords.session("before"))
            _ = try await serving.users.signIn(first)
            let steps = Self.steps(keepingOlderWorking: true)
            #expect(try await database.other().migrate(steps) == steps.count)
            #expect(try await serving.users.session("before")?.user == first.user, "what is under way goes on")
            let restarted = database.other()
            #expect(try await restarted.migrate() == steps.count)
            #expect(try await restarted.schema() == .current)
            let records = PostgresUsers(restarted, clock: LimitedClock())
            var second = first
            second.session.id = "after"
            #expect(try await records.signIn(second) == .signedIn(first.user, isNew: false))
            #expect(try await serving.others.sessions(of: "id-ada").count == 2)
        }

        @Test("A schema that has no place for this version is refused, and stays as it is")
        func newer() async throws {
            let store = try await RecordsDatabase().store
            try await store.migrate(Self.steps(keepingOlderWorking: false) + Self.steps)
            let error = await #expect(throws: StoreError.self) { try await store.migrate() }
            #expect(error == .newerSchema(["newer-1"]), "not the steps that only added")
            #expect(try await store.schema() == .newer(unknown: ["newer-1"]))
            #expect(try await count(store) == 2)
        }

        @Test("A schema of an earlier version lacks the steps that are named, and gets them")
        func older() async throws {
            let store = try await RecordsDatabase(isMigrated: false).store
            let names = PostgresStore.migrations.map(\.name)
            #expect(try await store.schema() == .older(missing: names))
            try await store.migrate(Array(PostgresStore.migrations.dropLast()))
            #expect(try await store.schema() == .older(missing: names.suffix(1).map(\.self)))
            #expect(try await store.migrate() == names.count)
            #expect(try await store.schema() == .current)
        }

        @Test("An index that was made before the upgrade, while gateways wrote, is taken as it is")
        func indexMadeBefore() async throws {
            let store = try await RecordsDatabase(isMigrated: false).store
            try await store.migrate(Array(PostgresStore.migrations.prefix { $0.name != "sessions-2" }))
            // The statement of docs/postgres.md.
            try await store.run(
                """
                CREATE INDEX CONCURRENTLY sessions_open ON sessions (pool_id, subject, signed_in_at)
                    WHERE ended_at IS NULL
                """)
            #expect(try await store.migrate() == PostgresStore.migrations.count)
            let index = try await store.rows(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = 'sessions_open'::regclass")
            #expect(try index.first?.boolean("indisvalid") == true)
        }

        @Test("Each step of the schema has a name of its own, and each table is known by its own")
        func names() async throws {
            let names = PostgresStore.migrations.map(\.name)
            #expect(Set(names).count == names.count)
            let store = try await RecordsDatabase().store
            let tables = try await store.rows("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
            #expect(try Set(tables.map { try $0.text("name") }) == Set(PostgresStore.tables))
        }
    }
}
