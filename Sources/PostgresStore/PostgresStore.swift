package import Postgres
internal import Store

/// The state of gateways in PostgreSQL: what ``Store`` is for SQLite.
///
/// Each operation is one statement, which decides and writes: several gateways run it at the same time, and a pooler in
/// transaction mode may give each statement another connection.
package struct PostgresStore: Sendable {
    /// A step of the schema. Its statements run one by one, in one transaction.
    struct Migration: Sendable {
        let name: String
        let statements: [String]
        /// Whether programs that do not know the step work with the schema that has it: they then serve and start
        /// beside newer ones. A step that only adds keeps them working. One that takes something away, when no version
        /// that needs it is in use any more, does not.
        let keepsOlderWorking: Bool

        init(name: String, statements: [String], keepsOlderWorking: Bool = true) {
            self.name = name
            self.statements = statements
            self.keepsOlderWorking = keepsOlderWorking
        }
    }

    let pool: PostgresPool
    /// The server's condition, as statements have found it.
    let condition: PostgresCondition

    package init(_ pool: PostgresPool) {
        self.pool = pool
        condition = PostgresCondition()
    }

    func rows(_ sql: String, _ values: [PostgresValue] = []) async throws(PostgresError) -> [PostgresRow] {
        let result = try await query(sql, values)
        return result.rows.map { PostgresRow(columns: result.columns, values: $0) }
    }

    /// As ``rows(_:_:)``, for a statement that reads so many rows that it may take longer than those of service.
    func rowsOfLongReading(_ sql: String, _ values: [PostgresValue] = []) async throws -> [PostgresRow] {
        let result = try await pool.withConnection { connection in
            let deadline = ContinuousClock.now + Self.longestReading
            _ = try await connection.query("BEGIN READ ONLY", deadline: deadline)
            let limit = "SET LOCAL statement_timeout = '\(Self.longestReading.components.seconds)s'"
            _ = try await connection.query(limit, deadline: deadline)
            let found = try await connection.query(sql, values, deadline: deadline)
            _ = try await connection.query("COMMIT", deadline: deadline)
            return found
        }
        return result.rows.map { PostgresRow(columns: result.columns, values: $0) }
    }

    private static let longestReading = Duration.seconds(120)

    /// - Returns: how many rows the statement has changed or returned.
    @discardableResult
    func run(_ sql: String, _ values: [PostgresValue] = []) async throws(PostgresError) -> Int {
        try await query(sql, values).count
    }

    private func query(_ sql: String, _ values: [PostgresValue]) async throws(PostgresError) -> PostgresRows {
        do {
            return try await pool.query(sql, values)
        } catch {
            condition.statementFailed(error)
            throw error
        }
    }
}
