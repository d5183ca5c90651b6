extension PostgresStore {
    /// Reads records page by page, up to a limit, so that no statement takes long and no response is large.
    ///
    /// - Parameters:
    ///   - page: the number of records that one statement reads.
    ///   - read: receives the last record so far and the number of records to read.
    static func pages<Record: Sendable>(
        of page: Int, upTo limit: Int, _ read: (_ last: Record?, _ count: Int) async throws -> [Record]
    ) async throws -> [Record] {
        var records: [Record] = []
        while records.count < limit {
            let count = min(page, limit - records.count)
            let found = try await read(records.last, count)
            records += found
            guard found.count == count else { break }
        }
        return records
    }
}
