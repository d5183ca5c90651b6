internal import Encoding
internal import Postgres
package import Store

/// The transfer of a gateway's records between SQLite and PostgreSQL.
extension PostgresStore {
    /// The database already has records, which would be mixed with the new ones.
    package struct NotEmpty: Error, CustomStringConvertible {
        package let description = "the database holds records already"
    }

    /// Imports all records of a SQLite database in one transaction: when this throws, nothing has changed.
    ///
    /// - Parameters:
    ///   - keys: seal a key ring as the given version. Without the keys that sealed them, the records are useless.
    ///   - replaces: whether existing records are removed.
    ///   - report: receives the number of rows so far.
    /// - Returns: the number of rows of each table.
    /// - Throws: ``NotEmpty``, and errors of both databases.
    package func takeOver(
        _ source: Store, keys: [KeyPurpose: @Sendable (_ version: Int64) throws -> KeyRingRecord] = [:],
        replaces: Bool = false, report: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> [(table: String, count: Int)] {
        try await pool.withConnection { connection in
            let deadline = ContinuousClock.now + Self.longestTransfer
            func run(_ sql: String, _ values: [PostgresValue] = []) async throws -> PostgresRows {
                try await connection.query(sql, values, deadline: deadline)
            }
            _ = try await run("BEGIN")
            for setting in Self.settings { _ = try await run(setting) }
            for table in PostgresRecordTable.all.reversed() {
                if replaces { _ = try await run("DELETE FROM \(table.name)") }
                let found = try await run("SELECT EXISTS (SELECT FROM \(table.name))").first
                guard found == [.boolean(false)] else { throw NotEmpty() }
            }
            for (purpose, sealed) in keys.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                let name = PostgresValue.text(purpose.rawValue)
                let found = try await run("SELECT version FROM key_rings WHERE purpose = $1 FOR UPDATE", [name]).first
                var version: Int64 = 0
                if case .integer(let known)? = found?.first { version = known }
                let record = try sealed(version + 1)
                _ = try await run(PostgresKeyRings.putting, [name, .integer(record.version), .bytes(record.sealed)])
            }
            var counts: [(table: String, count: Int)] = []
            var total = 0
            for table in PostgresRecordTable.all {
                let sql = table.insertion(try await source.columns(of: table.source))
                var (count, last): (Int, JSONObject?) = (0, nil)
                while true {
                    let rows = try await source.rows(of: table.source, after: last, limit: Self.page)
                    guard !rows.isEmpty else { break }
                    let json = JSON.array(rows.map { .object(table.renamed($0)) }).encoded()
                    _ = try await run(sql, [.text(String(decoding: json, as: UTF8.self))])
                    (count, last) = (count + rows.count, rows.last)
                    total += rows.count
                    report(total)
                }
                counts.append((table.source.name, count))
            }
            _ = try await run("COMMIT")
            return counts
        }
    }

    /// Copies a snapshot of all records into a SQLite database that has none.
    ///
    /// - Returns: the number of rows of each table.
    package func copy(
        to target: Store, report: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> [(table: String, count: Int)] {
        try await pool.withConnection { connection in
            let deadline = ContinuousClock.now + Self.longestTransfer
            func run(_ sql: String) async throws -> PostgresRows {
                try await connection.query(sql, [], deadline: deadline)
            }
            _ = try await run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for setting in Self.settings { _ = try await run(setting) }
            var counts: [(table: String, count: Int)] = []
            var total = 0
            for table in PostgresRecordTable.all {
                let columns = try await target.columns(of: table.source)
                _ = try await run("DECLARE moved NO SCROLL CURSOR FOR \(table.selection(columns))")
                var count = 0
                while true {
                    let found = try await run("FETCH \(Self.fetchedAtOnce) FROM moved")
                    guard !found.rows.isEmpty else { break }
                    try await target.insert(try found.rows.map(Self.object), into: table.source)
                    count += found.rows.count
                    total += found.rows.count
                    report(total)
                }
                _ = try await run("CLOSE moved")
                counts.append((table.source.name, count))
            }
            _ = try await run("COMMIT")
            return counts
        }
    }

    /// The number of rows of each table.
    package func counts() async throws -> [(table: String, count: Int)] {
        var counts: [(table: String, count: Int)] = []
        for name in PostgresRecordTable.names {
            let row = try await rows("SELECT count(*) AS count FROM \(name)").first
            counts.append((name, Int(try row?.integer("count") ?? 0)))
        }
        return counts
    }

    private static func object(_ row: [PostgresValue]) throws -> JSONObject {
        guard case .text(let text)? = row.first, let object = try JSON.parse(Array(text.utf8)).objectValue else {
            throw PostgresRow.MissingColumn(name: "row")
        }
        return object
    }

    private static let page = 500
    /// Rows with tokens of 100 kB, as hexadecimal digits in JSON, stay below the maximum size of a response.
    private static let fetchedAtOnce = 50
    private static let longestTransfer = Duration.seconds(24 * 3600)
    /// The time limits of ordinary statements are too short. Behind a pooler, the default format of bytes may be
    /// another one.
    private static let settings = [
        "statement_timeout = 0", "lock_timeout = 0", "idle_in_transaction_session_timeout = 0", "bytea_output = hex",
    ].map { "SET LOCAL \($0)" }
}

/// A PostgreSQL table with the rows of a SQLite table.
struct PostgresRecordTable: Sendable {
    let source: RecordTable
    let name: String
    /// The columns with another name here, by their name in SQLite.
    var renamed: [String: String] = [:]
    /// Columns that do not exist in SQLite, and their values in SQL.
    var constants: [(column: String, value: String)] = []
    /// The condition for the rows of the SQLite table; nil for all.
    var condition: String?

    static let all = RecordTable.all.map { source in
        switch source.name {
        case "limit_counts":
            PostgresRecordTable(source: source, name: source.name, renamed: ["window": "window_number"])
        case "revocations":
            PostgresRecordTable(
                source: source, name: source.name, constants: [("is_sparing", "false"), ("spared", "''")],
                condition: "NOT is_sparing")
        case "sparing_revocations":
            PostgresRecordTable(
                source: source, name: "revocations", renamed: ["subject": "value"],
                constants: [("claim", "'sub'"), ("is_sparing", "true")], condition: "is_sparing")
        default: PostgresRecordTable(source: source, name: source.name)
        }
    }

    /// The tables, without duplicates.
    static let names = all.map(\.name).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }

    func renamed(_ row: JSONObject) -> JSONObject {
        JSONObject(row.map { (renamed[$0.name] ?? $0.name, $0.value) })
    }

    /// An insert statement with the rows as JSON in `$1`. Types are those of the table: `bytea` parses the digits after
    /// `\x`.
    func insertion(_ columns: [String]) -> String {
        let own = columns.map { renamed[$0] ?? $0 }
        let names = (own + constants.map(\.column)).joined(separator: ", ")
        let values = (own + constants.map(\.value)).joined(separator: ", ")
        return "INSERT INTO \(name) (\(names)) SELECT \(values) FROM json_populate_recordset(NULL::\(name), $1::json)"
    }

    /// A query that returns the rows as JSON.
    func selection(_ columns: [String]) -> String {
        let members = columns.map { "'\($0)', \(renamed[$0] ?? $0)" }.joined(separator: ", ")
        let rest = condition.map { " WHERE \($0)" } ?? ""
        return "SELECT json_build_object(\(members))::text FROM \(name)\(rest)"
    }
}
