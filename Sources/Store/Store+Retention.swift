internal import GRDB

extension Store {
    /// How many rows one write removes at most. Others wait for it, about a millisecond for each hundred.
    static let removedAtOnce = 500

    /// As ``removeInSteps(_:where:_:)`` with what is in one column.
    func clearInSteps(
        _ column: String, in table: String, where condition: String, _ arguments: StatementArguments = []
    ) async throws {
        try await inSteps(table, where: "\(column) IS NOT NULL AND \(condition)", arguments) {
            "UPDATE \(table) SET \(column) = NULL WHERE \($0)"
        }
    }

    /// Removes rows of `table`, so many with each write that no other waits long for one.
    ///
    /// - Parameter condition: SQL that means the rows.
    func removeInSteps(
        _ table: String, where condition: String, _ arguments: StatementArguments = []
    ) async throws {
        try await inSteps(table, where: condition, arguments) { "DELETE FROM \(table) WHERE \($0)" }
    }

    /// - Parameter sql: changes the rows that are meant, so that they are meant no more.
    private func inSteps(
        _ table: String, where condition: String, _ arguments: StatementArguments,
        _ sql: @escaping @Sendable (_ meant: String) -> String
    ) async throws {
        var changed = 0
        repeat {
            changed = try await write { database in
                // By the key's columns: tables without rowid have no other name for a row.
                let key = try database.primaryKey(table).columns.joined(separator: ", ")
                try database.execute(
                    sql: sql(
                        "(\(key)) IN (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT \(Self.removedAtOnce))"),
                    arguments: arguments)
                return database.changesCount
            }
        } while changed == Self.removedAtOnce
    }
}
