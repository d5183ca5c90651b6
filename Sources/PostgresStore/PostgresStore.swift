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
    }

    let pool: PostgresPool

    package init(_ pool: PostgresPool) {
        self.pool = pool
    }

    func rows(_ sql: String, _ values: [PostgresValue] = []) async throws(PostgresError) -> [PostgresRow] {
        let result = try await pool.query(sql, values)
        return result.rows.map { PostgresRow(columns: result.columns, values: $0) }
    }

    /// - Returns: how many rows the statement has changed or returned.
    @discardableResult
    func run(_ sql: String, _ values: [PostgresValue] = []) async throws(PostgresError) -> Int {
        try await pool.query(sql, values).count
    }
}
