internal import Encoding
internal import Postgres
package import Store

/// How the records of a gateway go from SQLite to PostgreSQL and back.
extension PostgresStore {
    /// The database has records, which would be mixed with others.
    package struct NotEmpty: Error, CustomStringConvertible {
        package let description = "the database holds records already"
    }

    /// Takes over all records of a database in SQLite, as one transaction: when this throws, nothing has changed.
    ///
    /// - Parameters:
    ///   - keys: seal a key ring as the version that it gets: without the keys that sealed them, records are of no use.
    ///   - replaces: whether records that are there are removed.
    ///   - report: called with the number of rows so far.
    /// - Returns: how many rows each table has.
    /// - Throws: ``NotEmpty``, and the errors of both databases.
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

    /// Copies all records, as they are at one moment, into a database in SQLite that has none.
    ///
    /// - Returns: how many rows each table has.
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

    /// How many rows each table has.
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
    /// Tokens of 100 kB, as hexadecimal digits in JSON, are less than a response may have.
    private static let fetchedAtOnce = 50
    private static let longestTransfer = Duration.seconds(24 * 3600)
    /// The time limits of service do not fit. Behind a pooler, bytes may be written in another form by default.
    private static let settings = [
        "statement_timeout = 0", "lock_timeout = 0", "idle_in_transaction_session_timeout = 0", "bytea_output = hex",
    ].map { "SET LOCAL \($0)" }
}

/// A table in PostgreSQL with the rows of one in SQLite.
struct PostgresRecordTable: Sendable {
    let source: RecordTable
    let name: String
    /// Columns that have another name here.
    var renamed: [String: String] = [:]
    /// Columns that SQLite lacks, and their values in SQL.
    var constants: [(column: String, value: String)] = []
    /// Which rows are those of the table in SQLite; nil for all.
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

    /// The tables, each once.
    static let names = all.map(\.name).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }

    func renamed(_ row: JSONObject) -> JSONObject {
        JSONObject(row.map { (renamed[$0.name] ?? $0.name, $0.value) })
    }

    /// A statement with the rows as JSON in `$1`. Types are those of the table: `bytea` reads the digits behind `\x`.
    func insertion(_ columns: [String]) -> String {
        let own = columns.map { renamed[$0] ?? $0 }
        let names = (own + constants.map(\.column)).joined(separator: ", ")
        let values = (own + constants.map(\.value)).joined(separator: ", ")
        return "INSERT INTO \(name) (\(names)) SELECT \(values) FROM json_populate_recordset(NULL::\(name), $1::json)"
    }

    /// A query for the rows as JSON.
    func selection(_ columns: [String]) -> String {
        let members = columns.map { "'\($0)', \(renamed[$0] ?? $0)" }.joined(separator: ", ")
        let rest = condition.map { " WHERE \($0)" } ?? ""
        return "SELECT json_build_object(\(members))::text FROM \(name)\(rest)"
    }
}
