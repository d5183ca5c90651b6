package import Encoding
internal import FoundationEssentials
internal import GRDB

/// A table of records in SQLite, for the transfer of all records to another store and back.
package struct RecordTable: Sendable, Hashable {
    package let name: String
    /// The key columns, in order.
    let key: [String]

    /// All tables with records. Rows come after the rows they refer to.
    package static let all = [
        RecordTable(name: "users", key: ["id"]),
        RecordTable(name: "user_sessions", key: ["id"]),
        RecordTable(name: "spent", key: ["digest"]),
        RecordTable(name: "apple_tokens", key: ["user_id", "client_id"]),
        RecordTable(name: "sessions", key: ["family"]),
        RecordTable(name: "account_names", key: ["pool_id", "name"]),
        RecordTable(name: "direct_sessions", key: ["pool_id", "digest"]),
        RecordTable(name: "password_changes", key: ["id"]),
        RecordTable(name: "authorization_codes", key: ["hash"]),
        RecordTable(name: "revocations", key: ["issuer", "claim", "value"]),
        RecordTable(name: "sparing_revocations", key: ["issuer", "subject", "spared"]),
        RecordTable(name: "limit_counts", key: ["key", "window"]),
        RecordTable(name: "sign_in_failures", key: ["key"]),
        RecordTable(name: "known_devices", key: ["key"]),
        RecordTable(name: "outbox", key: ["key"]),
    ]

    /// Tables that only record how one process ended or the reading of its clock.
    static let ofProcesses = ["clean_ends", "pruning_clock"]
}

/// Rows as JSON: one member a column, with a number, a text, `\x` and hexadecimal digits for bytes, or null.
extension Store {
    /// - Parameter last: the last row of the previous page; nil for the first page.
    /// - Returns: at most `limit` rows, in the order of the key.
    package func rows(of table: RecordTable, after last: JSONObject?, limit: Int) async throws -> [JSONObject] {
        let key = table.key.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        return try await read { database in
            let types = try Self.types(of: table, in: database)
            var sql = "SELECT * FROM \(table.name.quotedDatabaseIdentifier)"
            var arguments: [any DatabaseValueConvertible] = []
            if let last {
                sql += " WHERE (\(key)) > (\(table.key.map { _ in "?" }.joined(separator: ", ")))"
                arguments = try table.key.map { try Self.value(last[$0] ?? .null, types[$0]) }
            }
            sql += " ORDER BY \(key) LIMIT ?"
            let statement = try database.cachedStatement(sql: sql)
            return try Row.fetchAll(statement, arguments: StatementArguments(arguments + [limit])).map { row in
                JSONObject(row.map { ($0, Self.json($1)) })
            }
        }
    }

    /// The columns of the table, in table order.
    package func columns(of table: RecordTable) async throws -> [String] {
        try await read { try $0.columns(in: table.name).map(\.name) }
    }

    /// Inserts rows, none of which may exist yet.
    package func insert(_ rows: [JSONObject], into table: RecordTable) async throws {
        try await write { database in
            let types = try Self.types(of: table, in: database)
            for row in rows {
                let names = row.map(\.name.quotedDatabaseIdentifier).joined(separator: ", ")
                let places = row.map { _ in "?" }.joined(separator: ", ")
                let statement = try database.cachedStatement(
                    sql: "INSERT INTO \(table.name.quotedDatabaseIdentifier) (\(names)) VALUES (\(places))")
                try statement.execute(
                    arguments: StatementArguments(try row.map { try Self.value($0.value, types[$0.name]) }))
            }
        }
    }

    /// The declared types of a table's columns.
    private static func types(of table: RecordTable, in database: Database) throws -> [String: String] {
        let columns = try database.columns(in: table.name).map { ($0.name, $0.type.uppercased()) }
        return Dictionary(columns) { first, _ in first }
    }

    private static func json(_ value: DatabaseValue) -> JSON {
        switch value.storage {
        case .null: .null
        case .int64(let number): .number(JSONNumber(number))
        case .double(let number): JSONNumber(number).map(JSON.number) ?? .null
        case .string(let text): .string(text)
        case .blob(let bytes): .string("\\x" + Hexadecimal.encode([UInt8](bytes)))
        }
    }

    private static func value(_ json: JSON, _ type: String?) throws -> DatabaseValue {
        switch json {
        case .null: return .null
        case .bool(let isTrue): return (isTrue ? 1 : 0).databaseValue
        case .string(let text) where type == "BLOB":
            guard text.hasPrefix("\\x"), let bytes = Hexadecimal.decode(text.dropFirst(2)) else { break }
            return Data(bytes).databaseValue
        case .string(let text): return text.databaseValue
        case .number(let number):
            guard let integer = number.integerValue else { break }
            return integer.databaseValue
        case .array, .object: break
        }
        throw StoreError.damaged(["a value that no column has"])
    }
}
