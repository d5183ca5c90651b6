internal import GRDB

/// The result of checking a database.
package struct StoreReport: Sendable, Equatable {
    /// The database's schema compared with this version's.
    package enum Schema: Sendable, Equatable {
        case current
        /// These steps are missing; the next start applies them.
        case older(missing: [String])
        /// These steps are unknown.
        case newer(unknown: [String])
        /// The database is too damaged to read its schema.
        case unreadable
    }

    /// Errors of SQLite's integrity check, unreadable parts, and rows with dangling references; empty if all is well.
    package var errors: [String] = []
    package var schema: Schema
    /// Rows by table name.
    package var rows: [(table: String, count: Int)] = []

    package init(schema: Schema) { self.schema = schema }

    package var isGood: Bool {
        switch schema {
        case .current, .older: errors.isEmpty
        case .newer, .unreadable: false
        }
    }

    package static func == (left: StoreReport, right: StoreReport) -> Bool {
        left.errors == right.errors && left.schema == right.schema
            && left.rows.elementsEqual(right.rows) { $0 == $1 }
    }
}

extension Store {
    /// Checks the whole database. Unreadable parts are listed as errors; nothing is thrown.
    ///
    /// - Parameter migrations: the expected schema.
    package func report(_ migrations: [Migration]) async -> StoreReport {
        var report = StoreReport(schema: .unreadable)
        do {
            let integrity = try await read { try String.fetchAll($0, sql: "PRAGMA integrity_check(20)") }
            if integrity != ["ok"] { report.errors = integrity }
            let found = report
            report = try await read { database in
                var report = found
                try Self.read(database, migrations, into: &report)
                return report
            }
        } catch {
            report.errors.append("\((error as? DatabaseError)?.message ?? "\(error)")")
        }
        return report
    }

    private static func read(
        _ database: Database, _ migrations: [Migration], into report: inout StoreReport
    ) throws {
        report.schema = try schema(database, migrations)
        for row in try Row.fetchAll(database, sql: "PRAGMA foreign_key_check").prefix(20) {
            let (table, parent): (String, String) = (row["table"], row["parent"])
            report.errors.append("a row of \(table) refers to none of \(parent)")
        }
        let tables = try String.fetchAll(
            database,
            sql: """
                SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'grdb_migrations' ORDER BY name
                """)
        report.rows = try tables.map { table in
            (table, try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table.quotedDatabaseIdentifier)") ?? 0)
        }
    }

    private static func schema(_ database: Database, _ migrations: [Migration]) throws -> StoreReport.Schema {
        let applied = try migrator(migrations).appliedIdentifiers(database)
        let names = migrations.map(\.name)
        let unknown = applied.subtracting(names)
        if !unknown.isEmpty { return .newer(unknown: unknown.sorted()) }
        let missing = names.filter { !applied.contains($0) }
        return missing.isEmpty ? .current : .older(missing: missing)
    }
}
