package import Postgres
internal import Store

/// The gateways' state in PostgreSQL: the counterpart of ``Store`` for SQLite.
///
/// Each operation is one statement that both decides and writes: several gateways run it concurrently, and a pooler in
/// transaction mode may use another connection for each statement.
package struct PostgresStore: Sendable {
    /// A schema step. Its statements run one after another, in one transaction.
    struct Migration: Sendable {
        let name: String
        let statements: [String]
        /// Whether versions that do not know the step work with the resulting schema, so that they can serve and start
        /// beside newer ones. True for a step that only adds; false for one that removes something once no version in
        /// use needs it.
        let keepsOlderWorking: Bool

        init(name: String, statements: [String], keepsOlderWorking: Bool = true) {
            self.name = name
            self.statements = statements
            self.keepsOlderWorking = keepsOlderWorking
        }
    }

    let pool: PostgresPool
    /// Whether the server accepts writes, according to statements so far.
    let condition: PostgresCondition

    package init(_ pool: PostgresPool) {
        self.pool = pool
        condition = PostgresCondition()
    }

    func rows(_ sql: String, _ values: [PostgresValue] = []) async throws(PostgresError) -> [PostgresRow] {
        let result = try await query(sql, values)
        return result.rows.map { PostgresRow(columns: result.columns, values: $0) }
    }

    /// As ``rows(_:_:)``, for a statement that scans many rows and may take longer than ordinary ones.
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

    /// - Returns: the number of rows that the statement has changed or returned.
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
