internal import Postgres

extension PostgresStore {
    /// The maximum number of rows that one statement removes or clears.
    private static let changedAtOnce = 500

    /// Removes rows of `table` in batches, so that no other statement waits long for one. Rows that others are writing
    /// are left for the next time, so that no deadlock can occur.
    ///
    /// - Parameters:
    ///   - key: the key columns.
    ///   - condition: the SQL condition that selects the rows, with `values`.
    func removeEnded(
        from table: String, key: [String], where condition: String, _ values: [PostgresValue]
    ) async throws {
        try await changeEnded(table, key: key, where: condition, values) {
            "DELETE FROM \(table) AS t USING ended AS o WHERE \($0)"
        }
    }

    /// As ``removeEnded(from:key:where:_:)``, but sets one column to NULL.
    func clearEnded(
        _ column: String, in table: String, key: [String], where condition: String, _ values: [PostgresValue]
    ) async throws {
        try await changeEnded(table, key: key, where: "\(column) IS NOT NULL AND \(condition)", values) {
            "UPDATE \(table) AS t SET \(column) = NULL FROM ended AS o WHERE \($0)"
        }
    }

    private func changeEnded(
        _ table: String, key: [String], where condition: String, _ values: [PostgresValue],
        _ change: (_ isMeant: String) -> String
    ) async throws {
        let isMeant = key.map { "t.\($0) = o.\($0)" }.joined(separator: " AND ")
        // Materialized: a plan that selected the rows more than once would change more than the limit.
        let sql = """
            WITH ended AS MATERIALIZED (
                SELECT \(key.joined(separator: ", ")) FROM \(table) WHERE \(condition)
                LIMIT \(Self.changedAtOnce) FOR UPDATE SKIP LOCKED)
            \(change(isMeant))
            """
        while try await run(sql, values) == Self.changedAtOnce {}
    }
}
