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
            try await database.store.migrate(Self.steps)
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

        @Test("A database with steps of a newer version is refused, and stays as it is")
        func newer() async throws {
            let store = try await RecordsDatabase().store
            let all = PostgresStore.migrations + Self.steps
            try await store.migrate(all)
            let error = await #expect(throws: StoreError.self) { try await store.migrate() }
            #expect(error == .newerSchema(["a-1", "a-2"]))
            #expect(try await count(store) == 2)
        }
    }
}
