internal import GRDB

extension Store {
    /// The maximum number of rows that one write removes. Other writes wait for it, about a millisecond for each
    /// hundred rows.
    static let removedAtOnce = 500

    /// As ``removeInSteps(_:where:_:)``, but sets one column to NULL.
    func clearInSteps(
        _ column: String, in table: String, where condition: String, _ arguments: StatementArguments = []
    ) async throws {
        try await inSteps(table, where: "\(column) IS NOT NULL AND \(condition)", arguments) {
            "UPDATE \(table) SET \(column) = NULL WHERE \($0)"
        }
    }

    /// Removes rows of `table` in batches, so that no other write waits long for one.
    ///
    /// - Parameter condition: the SQL condition that selects the rows.
    func removeInSteps(
        _ table: String, where condition: String, _ arguments: StatementArguments = []
    ) async throws {
        try await inSteps(table, where: condition, arguments) { "DELETE FROM \(table) WHERE \($0)" }
    }

    /// - Parameter sql: changes the selected rows so that the condition no longer selects them.
    private func inSteps(
        _ table: String, where condition: String, _ arguments: StatementArguments,
        _ sql: @escaping @Sendable (_ meant: String) -> String
    ) async throws {
        var changed = 0
        repeat {
            changed = try await write { database in
                // Rows are identified by their key columns: tables without rowid have no other identifier.
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
