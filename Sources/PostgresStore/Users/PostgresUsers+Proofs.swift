internal import Postgres
package import Store

extension PostgresUsers: SingleUseRecords {
    package func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool {
        try await store.run(
            "INSERT INTO spent (digest, ends_at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING",
            [.bytes(digest), .integer(endsAt)]) > 0
    }

    package func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep {
        var parameters = PostgresParameters()
        let statements = Self.spending(proof, &parameters)
        let sql = "WITH \(statements) SELECT known_token, known_nonce FROM known"
        let rows = try await store.repeated(after: [Self.onceSpent]) { [parameters] in
            try await store.rows(sql, parameters.values)
        }
        guard let row = rows.first else { throw StoreError.rowVanished }
        return try Self.spendingStep(row)
    }

    package func isSpent(_ digest: [UInt8]) async throws -> Bool {
        try await !store.rows("SELECT 1 FROM spent WHERE digest = $1", [.bytes(digest)]).isEmpty
    }

    // MARK: Statements

    /// SQL for `known`, one row that shows which parts of a proof were already used, and for `used`, a row for each
    /// part that this statement marks as used: all of them, or none.
    ///
    /// Of several concurrent uses of a part, all but one violate ``onceSpent`` once the first has committed: that rolls
    /// the whole statement back, and the next attempt finds the part as known.
    ///
    /// - Parameter proof: nil: no part is known and none is used.
    static func spending(_ proof: UserSignIn.Proof?, _ parameters: inout PostgresParameters) -> String {
        let token = parameters.add(.optional(proof?.digest))
        let nonce = parameters.add(.optional(proof?.nonce?.digest))
        let ends = [
            parameters.add(.optional(proof?.endsAt)), parameters.add(.optional(proof?.nonce?.endsAt)),
        ]
        return """
            known AS MATERIALIZED (
                SELECT EXISTS (SELECT FROM spent WHERE digest = \(token)::bytea) AS known_token,
                    EXISTS (SELECT FROM spent WHERE digest = \(nonce)::bytea) AS known_nonce
            ), used AS (
                INSERT INTO spent (digest, ends_at)
                SELECT p.digest, p.ends_at FROM known, (
                    VALUES (\(token)::bytea, \(ends[0])::bigint), (\(nonce)::bytea, \(ends[1])::bigint)
                ) AS p (digest, ends_at)
                WHERE p.digest IS NOT NULL AND NOT known_token AND NOT known_nonce ORDER BY p.digest
                RETURNING digest
            )
            """
    }

    static func spendingStep(_ row: PostgresRow) throws -> SpendingStep {
        if try row.boolean("known_token") { return .replayed }
        return try row.boolean("known_nonce") ? .nonceReused : .spent
    }
}
