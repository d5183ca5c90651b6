internal import GRDB

extension Store {
    /// How many rows one write removes at most. Others wait for it, about a millisecond for each hundred.
    static let removedAtOnce = 500

    /// Removes rows of `table`, so many with each write that no other waits long for one.
    ///
    /// - Parameter condition: SQL that means the rows.
    func removeInSteps(
        _ table: String, where condition: String, _ arguments: StatementArguments = []
    ) async throws {
        var removed = 0
        repeat {
            removed = try await write { database in
                // By the key's columns: tables without rowid have no other name for a row.
                let key = try database.primaryKey(table).columns.joined(separator: ", ")
                try database.execute(
                    sql: """
                        DELETE FROM \(table) WHERE (\(key)) IN
                            (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT \(Self.removedAtOnce))
                        """,
                    arguments: arguments)
                return database.changesCount
            }
        } while removed == Self.removedAtOnce
    }
}
