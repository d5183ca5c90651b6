internal import CPostgres

/// The outcome of a statement, read from a libpq result, which is not retained.
struct PostgresResult {
    let outcome: Result<PostgresRows, PostgresError>

    /// - Parameter hasEnded: whether the connection has ended.
    init(_ pq: gatehouse_libpq, _ result: OpaquePointer, hasEnded: Bool) {
        switch pq.PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: outcome = Self.rows(pq, result)
        default: outcome = .failure(Self.error(pq, result, hasEnded: hasEnded))
        }
    }

    private static func rows(
        _ pq: gatehouse_libpq, _ result: OpaquePointer
    ) -> Result<PostgresRows, PostgresError> {
        let columns = 0..<pq.PQnfields(result)
        let names = columns.map { column in pq.PQfname(result, column).map { String(cString: $0) } ?? "" }
        let types = columns.map { pq.PQftype(result, $0) }
        var rows: [[PostgresValue]] = []
        rows.reserveCapacity(Int(pq.PQntuples(result)))
        for row in 0..<pq.PQntuples(result) {
            var values: [PostgresValue] = []
            values.reserveCapacity(names.count)
            for column in columns {
                guard pq.PQgetisnull(result, row, column) == 0 else {
                    values.append(.null)
                    continue
                }
                let bytes = UnsafeRawBufferPointer(
                    start: pq.PQgetvalue(result, row, column), count: Int(pq.PQgetlength(result, row, column)))
                guard let value = PostgresValue(bytes, typeID: types[Int(column)]) else {
                    let name = names[Int(column)]
                    return .failure(PostgresError(.type, "column \(name) has the type \(types[Int(column)])"))
                }
                values.append(value)
            }
            rows.append(values)
        }
        let count = pq.PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? rows.count
        return .success(PostgresRows(columns: names, rows: rows, count: count))
    }

    /// Uses only the primary message: details contain values of rows.
    private static func error(
        _ pq: gatehouse_libpq, _ result: OpaquePointer, hasEnded: Bool
    ) -> PostgresError {
        func field(_ code: CInt) -> String? { pq.PQresultErrorField(result, code).map { String(cString: $0) } }
        let state = field(CInt(gatehouse_field_sqlstate))
        let message = field(CInt(gatehouse_field_message))
        return PostgresError(
            hasEnded || state == nil ? .connection : .statement, message ?? "the connection was lost",
            sqlState: state, constraint: field(CInt(gatehouse_field_constraint)))
    }
}
