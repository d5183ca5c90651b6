internal import Postgres
package import Store

/// The counters, read in pages when a gateway starts, so that no statement takes long and no response is large.
extension PostgresLimits {
    /// The number of rows that one statement reads.
    private static let page = 10_000

    /// The newest rows, sorted by window.
    package func counts(now: Int64, limit: Int) async throws -> [CountRecord] {
        let pruning = clock.pruningTime(now)
        return try await PostgresStore.pages(of: Self.page, upTo: limit) { (last: CountRecord?, count: Int) in
            try await store.rows(
                """
                SELECT key, window_number, count, ends_at FROM limit_counts
                WHERE ends_at > $1 AND (ends_at, key, window_number) < ($2, $3, $4)
                ORDER BY ends_at DESC, key DESC, window_number DESC LIMIT $5
                """,
                [
                    .integer(pruning), .integer(last?.endsAt ?? .max), .text(last?.key ?? ""),
                    .integer(last?.window ?? 0), .integer(count),
                ]
            ).map(CountRecord.init)
        }.sorted { $0.window < $1.window }
    }

    /// The newest rows. A row that is updated between two pages may be missing; this is harmless, since each call looks
    /// up its own rows.
    package func failures(now: Int64, limit: Int) async throws -> [FailureRecord] {
        let pruning = clock.pruningTime(now)
        return try await PostgresStore.pages(of: Self.page, upTo: limit) { (last: FailureRecord?, count: Int) in
            try await store.rows(
                """
                SELECT \(Self.failureColumns) FROM sign_in_failures AS l
                WHERE ends_at > $1 AND count > 0 AND (ends_at, key) < ($2, $3)
                ORDER BY ends_at DESC, key DESC LIMIT $4
                """,
                [
                    .integer(pruning), .integer(last?.endsAt ?? .max), .text(last?.key ?? ""), .integer(count),
                ]
            ).map(FailureRecord.init)
        }
    }
}

extension CountRecord {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            key: try row.text("key"), window: try row.integer("window_number"), count: try row.integer("count"),
            endsAt: try row.integer("ends_at"))
    }
}
