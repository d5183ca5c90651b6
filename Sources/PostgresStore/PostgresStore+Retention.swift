internal import Postgres

extension PostgresStore {
    /// How many rows one statement removes or clears at most.
    private static let changedAtOnce = 500

    /// Removes rows of `table`, so many with each statement that no other waits long for one. Rows that others are
    /// writing stay, for the next time: so no two ever wait for each other.
    ///
    /// - Parameters:
    ///   - key: the columns of its key.
    ///   - condition: SQL that means the rows, with `values`.
    func removeEnded(
        from table: String, key: [String], where condition: String, _ values: [PostgresValue]
    ) async throws {
        try await changeEnded(table, key: key, where: condition, values) {
            "DELETE FROM \(table) AS t USING ended AS o WHERE \($0)"
        }
    }

    /// As ``removeEnded(from:key:where:_:)`` with what is in one column.
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
        // Materialized: a plan that looked for the rows more than once would change more than the limit.
        let sql = """
            WITH ended AS MATERIALIZED (
                SELECT \(key.joined(separator: ", ")) FROM \(table) WHERE \(condition)
                LIMIT \(Self.changedAtOnce) FOR UPDATE SKIP LOCKED)
            \(change(isMeant))
            """
        while try await run(sql, values) == Self.changedAtOnce {}
    }
}
