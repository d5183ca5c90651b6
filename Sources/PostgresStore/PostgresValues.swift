internal import Postgres

extension PostgresValue {
    static func optional(_ text: String?) -> PostgresValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> PostgresValue { number.map { .integer($0) } ?? .null }
    static func optional(_ bytes: [UInt8]?) -> PostgresValue { bytes.map { .bytes($0) } ?? .null }
    static func integer(_ number: Int) -> PostgresValue { .integer(Int64(number)) }
}

/// The parameters of a statement, numbered as they come.
struct PostgresParameters {
    private(set) var values: [PostgresValue] = []

    /// - Returns: the name of the parameter, as `$1`.
    mutating func add(_ value: PostgresValue) -> String {
        values.append(value)
        return "$\(values.count)"
    }

    /// - Returns: a row of a list of VALUES.
    mutating func row(_ values: [PostgresValue]) -> String {
        "(" + values.map { add($0) }.joined(separator: ", ") + ")"
    }
}

extension PostgresStore {
    /// How many rows one statement removes at most. Others wait for those rows until it ends.
    static let removedAtOnce = 500
    /// How often a statement that others' writes have undone is tried.
    private static let tries = 5

    /// A statement that can be repeated when the server has undone it, because it and another one waited for each other.
    func repeatedRows(_ sql: String, _ values: [PostgresValue]) async throws -> [PostgresRow] {
        try await repeated { try await rows(sql, values) }
    }

    /// Does again what the server has undone, because it and another statement waited for each other.
    ///
    /// - Parameter constraints: what violates one of these is undone and done again as well: another writer was faster,
    ///   and what it has written is seen then.
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

    /// Removes rows, so many with each statement that no other waits long for one. Rows that others hold are left to
    /// them, or to the next time.
    ///
    /// - Parameters:
    ///   - key: the columns of the primary key.
    ///   - condition: SQL that means the rows.
    func removeInSteps(
        _ table: String, key: [String], where condition: String, _ values: [PostgresValue]
    ) async throws(PostgresError) {
        try await inSteps(
            """
            WITH \(Self.chosen(table, key: key, where: condition, limit: "\(Self.removedAtOnce)"))
            DELETE FROM \(table) AS l USING chosen WHERE \(Self.isChosen(key))
            """, values)
    }

    /// Runs a statement until it has fewer rows to change than it changes at once.
    func inSteps(_ sql: String, _ values: [PostgresValue]) async throws(PostgresError) {
        while try await run(sql, values) == Self.removedAtOnce {}
    }

    /// SQL of `chosen`, the keys of rows that nobody else holds. The table is `l` in it.
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
