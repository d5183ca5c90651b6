import Encoding
import GRDB
import Testing

@testable import PostgresStore
@testable import Store

extension PostgresTests {
    @Suite("Moving records between SQLite and PostgreSQL")
    struct Transfer {
        /// A database in SQLite with rows in each table. Each column has another value in each row, and NULL in every
        /// third where it may.
        private func source(rows: Int) async throws -> Store {
            let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
            for table in RecordTable.all {
                for number in 0..<rows {
                    let row = try await store.read { database in
                        try database.columns(in: table.name).map { column in
                            (column.name, Self.value(of: column, in: table, number))
                        }
                    }
                    try await store.insert([JSONObject(row)], into: table)
                }
            }
            return store
        }

        private static func value(of column: ColumnInfo, in table: RecordTable, _ number: Int) -> JSON {
            let isKey = column.primaryKeyIndex > 0
            switch (table.name, column.name) {
            case ("user_sessions", "user_id"), ("apple_tokens", "user_id"), ("users", "id"):
                return .string("user-\(number)")
            case ("revocations", "claim"): return .string(["origin_jti", "jti", "sid", "sub"][number % 4])
            case ("users", "email_verified"), ("users", "is_private_email"), ("outbox", "must_arrive"):
                return .number(JSONNumber(number % 2))
            case ("sparing_revocations", "before") where number == 1: return .number(JSONNumber(Int64.max))
            default: break
            }
            if !column.isNotNull, !isKey, number % 3 == 2 { return .null }
            switch column.type.uppercased() {
            case "INTEGER": return .number(JSONNumber(1_700_000_000_000 + number))
            case "BLOB": return .string("\\x00ff" + Hexadecimal.encode(Array("\(table.name)\(number)".utf8)))
            default: return .string("\(column.name)-\(number) \"ä\\\u{1f600}\n")
            }
        }

        private func contents(_ store: Store) async throws -> [String: [String]] {
            var contents: [String: [String]] = [:]
            for table in RecordTable.all {
                contents[table.name] = try await store.rows(of: table, after: nil, limit: 10_000)
                    .map { String(decoding: $0.encoded(), as: UTF8.self) }
            }
            return contents
        }

        @Test("Every table of SQLite with records is moved")
        func knowsAllTables() async throws {
            let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
            let tables = try await store.read { database in
                try String.fetchAll(
                    database,
                    sql: """
                        SELECT name FROM sqlite_schema
                        WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'grdb_migrations'
                        """)
            }
            #expect(Set(tables) == Set(RecordTable.all.map(\.name) + RecordTable.ofProcesses))
        }

        @Test("What goes to PostgreSQL and back is the same, in every column of every table")
        func roundTrip() async throws {
            let source = try await source(rows: 7)
            let store = try await RecordsDatabase().store
            let taken = try await store.takeOver(source)
            #expect(taken.map(\.count) == RecordTable.all.map { _ in 7 })
            let target = try Store(path: ":memory:", migrations: GatewayStore.migrations)
            let copied = try await store.copy(to: target)
            #expect(copied.map(\.count) == taken.map(\.count))
            let (before, after) = (try await contents(source), try await contents(target))
            for table in RecordTable.all { #expect(after[table.name] == before[table.name], "\(table.name)") }
            #expect(try await store.counts().first { $0.table == "revocations" }?.count == 14)
        }

        @Test("More rows than a page are moved")
        func pages() async throws {
            let source = try await source(rows: 0)
            let spent = try #require(RecordTable.all.first { $0.name == "spent" })
            let rows = (0..<1201).map { number in
                JSONObject([
                    ("digest", .string("\\x" + Hexadecimal.encode(UInt32(number)))),
                    ("ends_at", .number(JSONNumber(1))),
                ])
            }
            try await source.insert(rows, into: spent)
            let store = try await RecordsDatabase().store
            #expect(try await store.takeOver(source).first { $0.table == "spent" }?.count == 1201)
            let target = try Store(path: ":memory:", migrations: GatewayStore.migrations)
            #expect(try await store.copy(to: target).first { $0.table == "spent" }?.count == 1201)
        }

        @Test("Records with large tokens are moved")
        func largeTokens() async throws {
            let store = try await RecordsDatabase().store
            let sessions = """
                INSERT INTO sessions (family, pool_id, subject, generation, token, answer, retry_until, signed_in_at,
                    refreshed_at, ends_at)
                SELECT decode(lpad(n::text, 8, '0'), 'hex'), 'p', 's', 1, ''::bytea, decode(repeat('ab', 20000), 'hex'),
                    0, 1, 1, 9
                FROM generate_series(1, 500) AS n
                """
            #expect(try await store.run(sessions) == 500)
            let target = try Store(path: ":memory:", migrations: GatewayStore.migrations)
            #expect(try await store.copy(to: target).first { $0.table == "sessions" }?.count == 500)
            let bytes = try await target.read { try Int.fetchOne($0, sql: "SELECT sum(length(answer)) FROM sessions") }
            #expect(bytes == 500 * 20_000)
        }

        @Test("A database with records is left as it is, unless they are to be replaced")
        func notEmpty() async throws {
            let store = try await RecordsDatabase().store
            _ = try await store.takeOver(try await source(rows: 2))
            let more = try await source(rows: 5)
            await #expect(throws: PostgresStore.NotEmpty.self) { _ = try await store.takeOver(more) }
            #expect(try await store.counts().first { $0.table == "users" }?.count == 2)
            _ = try await store.takeOver(more, replaces: true)
            #expect(try await store.counts().first { $0.table == "users" }?.count == 5)
        }

        /// A row of the outbox that SQLite takes and PostgreSQL does not.
        private static let broken: [String: JSON] = ["key": "broken", "must_arrive": 7]

        @Test("A transfer that fails in its midst changes nothing, and can be run again")
        func interrupted() async throws {
            let source = try await source(rows: 3)
            let outbox = try #require(RecordTable.all.first { $0.name == "outbox" })
            // PostgreSQL takes no such truth value.
            let row = try await source.rows(of: outbox, after: nil, limit: 1)[0]
            let broken = JSONObject(row.map { ($0.name, Self.broken[$0.name] ?? $0.value) })
            try await source.insert([broken], into: outbox)
            let store = try await RecordsDatabase().store
            let keys = PostgresKeyRings(store)
            let first = KeyRingRecord(version: 1, sealed: [1])
            #expect(try await keys.replace(with: first, for: .sealing))
            let others: [KeyPurpose: @Sendable (Int64) throws -> KeyRingRecord] = [
                .sealing: { KeyRingRecord(version: $0, sealed: [2]) },
                .audit: { KeyRingRecord(version: $0, sealed: [3]) },
            ]
            await #expect(throws: (any Error).self) { _ = try await store.takeOver(source, keys: others) }
            #expect(try await store.counts().allSatisfy { $0.count == 0 })
            #expect(try await keys.keyRing(.sealing) == first)
            #expect(try await keys.keyRing(.audit) == nil)
            try await source.write { try $0.execute(sql: "DELETE FROM outbox WHERE must_arrive > 1") }
            #expect(try await store.takeOver(source, keys: others).allSatisfy { $0.count == 3 })
            #expect(try await keys.keyRing(.sealing) == KeyRingRecord(version: 2, sealed: [2]))
            #expect(try await keys.keyRing(.audit) == KeyRingRecord(version: 1, sealed: [3]))
        }
    }
}
