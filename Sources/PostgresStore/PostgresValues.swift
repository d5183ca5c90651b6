internal import Postgres

extension PostgresValue {
    static func optional(_ text: String?) -> PostgresValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> PostgresValue { number.map { .integer($0) } ?? .null }
    static func optional(_ bytes: [UInt8]?) -> PostgresValue { bytes.map { .bytes($0) } ?? .null }
    static func integer(_ number: Int) -> PostgresValue { .integer(Int64(number)) }
}

/// The parameters of a statement, numbered in the order of addition.
struct PostgresParameters {
    private(set) var values: [PostgresValue] = []

    /// - Returns: the placeholder of the parameter, such as `$1`.
    mutating func add(_ value: PostgresValue) -> String {
        values.append(value)
        return "$\(values.count)"
    }

    /// - Returns: a row for a list of VALUES.
    mutating func row(_ values: [PostgresValue]) -> String {
        "(" + values.map { add($0) }.joined(separator: ", ") + ")"
    }
}

extension PostgresStore {
    /// The maximum number of rows that one statement removes. Others wait for those rows until it ends.
    static let removedAtOnce = 500
    /// The maximum number of attempts for a statement that conflicts with others.
    private static let tries = 5

    /// Runs a statement, and repeats it if the server has rolled it back because of a conflict, such as a deadlock.
    func repeatedRows(_ sql: String, _ values: [PostgresValue]) async throws -> [PostgresRow] {
        try await repeated { try await rows(sql, values) }
    }

    /// Runs `work`, and repeats it if the server has rolled it back because of a conflict, such as a deadlock.
    ///
    /// - Parameter constraints: violations of these are retried as well: another writer was faster, and the next
    ///   attempt sees its rows.
    func repeated<Value>(
        after constraints: Set<String> = [], _ work: () async throws -> Value
    ) async throws -> Value {
        for _ in 1..<Self.tries {
            do {
                return try await work()
            } catch let error as PostgresError {
                let isOvertaken = error.constraint.map { constraints.contains($0) } ?? false
                guard error.condition == .conflict || isOvertaken else { throw error }
            }
        }
        return try await work()
    }

    /// Removes rows in batches, so that no other statement waits long for one. Rows that others have locked are left
    /// for them or for the next time.
    ///
    /// - Parameters:
    ///   - key: the columns of the primary key.
    ///   - condition: the SQL condition that selects the rows.
    func removeInSteps(
        _ table: String, key: [String], where condition: String, _ values: [PostgresValue]
    ) async throws(PostgresError) {
        try await inSteps(
            """
            WITH \(Self.chosen(table, key: key, where: condition, limit: "\(Self.removedAtOnce)"))
            DELETE FROM \(table) AS l USING chosen WHERE \(Self.isChosen(key))
            """, values)
    }

    /// Repeats a statement until it changes fewer rows than its batch size.
    func inSteps(_ sql: String, _ values: [PostgresValue]) async throws(PostgresError) {
        while try await run(sql, values) == Self.removedAtOnce {}
    }

    /// SQL for `chosen`, the keys of rows that nobody else has locked. The table's alias in it is `l`.
    static func chosen(
        _ table: String, as name: String = "chosen", key: [String], where condition: String, limit: String
    ) -> String {
        let columns = key.map { "l.\($0)" }.joined(separator: ", ")
        return """
            \(name) AS MATERIALIZED (
                SELECT \(columns) FROM \(table) AS l WHERE \(condition) LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            """
    }

    static func isChosen(_ key: [String], by name: String = "chosen") -> String {
        key.map { "l.\($0) = \(name).\($0)" }.joined(separator: " AND ")
    }
}
