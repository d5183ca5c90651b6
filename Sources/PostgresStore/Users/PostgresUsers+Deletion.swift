internal import Postgres
package import Store

/// The deletion of users, whose Apple tokens are first turned into messages. The caller creates the messages, so the
/// tokens are read first and then handed over by a statement that requires them to be unchanged.
extension PostgresUsers {
    package func handOverAppleTokens(
        of userID: String, as message: @escaping AppleTokenHandOver, limit: Int
    ) async throws -> Bool {
        for _ in 0..<Self.tries {
            let tokens = try await appleTokens(of: userID)
            guard !tokens.isEmpty else { return true }
            var parameters = PostgresParameters()
            let (user, most) = (parameters.add(.text(userID)), parameters.add(.integer(limit)))
            let given = Self.given(tokens.map { ($0, message($0).shared(clock)) }, &parameters)
            let sql = """
                WITH \(given), room AS MATERIALIZED (
                    SELECT NOT EXISTS (
                        SELECT FROM given AS g GROUP BY g.destination, g.must_arrive
                        HAVING count(*) + (
                            SELECT count(*) FROM outbox AS o
                            WHERE o.destination = g.destination AND o.must_arrive = g.must_arrive) > \(most)
                    ) AS is_left
                ), \(Self.handedOver(of: user, where: "(SELECT is_left FROM room)"))
                SELECT is_left, (SELECT count(*) FROM deleted) AS count FROM room
                """
            let found = try await store.repeated { [parameters] in try await store.rows(sql, parameters.values) }
            guard let row = found.first else { throw StoreError.rowVanished }
            guard try row.boolean("is_left") else { return false }
            if try row.integer("count") == Int64(tokens.count) { return true }
        }
        throw StoreError.rowVanished
    }

    package func delete(_ id: String, handingOver handOver: AppleTokenHandOver?) async throws -> UserRecord? {
        guard id.mayBeStored else { return nil }
        // A token added meanwhile prevents the deletion of the user, which rolls the statement back.
        return try await store.repeated(after: [Self.userOfToken]) { try await deleteOnce(id, handOver) }
    }

    private func deleteOnce(_ id: String, _ handOver: AppleTokenHandOver?) async throws -> UserRecord? {
        let tokens = handOver == nil ? [] : try await appleTokens(of: id)
        var parameters = PostgresParameters()
        let user = parameters.add(.text(id))
        let messages = handOver.map { handOver in tokens.map { ($0, handOver($0).shared(clock)) } }
        let given = Self.given(messages ?? [], &parameters)
        let handedOver =
            handOver == nil
            ? """
            deleted AS (
                DELETE FROM apple_tokens WHERE user_id = \(user) AND EXISTS (SELECT FROM u) RETURNING client_id)
            """ : Self.handedOver(of: user, where: "EXISTS (SELECT FROM u)")
        // Sessions are deleted with the user. They are locked first, in the order in which other writers lock them.
        let sql = """
            WITH \(given), u AS MATERIALIZED (
                SELECT \(Self.names(Self.userColumns)) FROM users WHERE id = \(user) FOR UPDATE
            ), ended AS MATERIALIZED (
                SELECT s.id FROM user_sessions AS s JOIN u ON u.id = s.user_id ORDER BY s.id FOR UPDATE OF s
            ), \(handedOver), gone AS (
                DELETE FROM users AS g USING u WHERE g.id = u.id
                    AND (SELECT count(*) FROM ended) + (SELECT count(*) FROM deleted) >= 0
            )
            SELECT \(Self.userList()) FROM u
            """
        return try await store.rows(sql, parameters.values).first.map { try UserRecord($0) }
    }

    /// The maximum number of attempts if tokens change between being read and being handed over.
    private static let tries = 5

    /// SQL for `given`: tokens, with the messages that replace them.
    private static func given(
        _ messages: [(AppleTokenRecord, OutboxMessage)], _ parameters: inout PostgresParameters
    ) -> String {
        let columns = [("client_id", "text"), ("token", "bytea")] + PostgresOutbox.columns
        let rows = messages.map { token, message in
            let values = [.text(token.clientID), .bytes(token.token)] + PostgresOutbox.values(of: message)
            return "(\(list(columns, values, &parameters)))"
        }
        // A list of VALUES must have at least one row.
        let none = "SELECT \(columns.map { "NULL::\($0.1)" }.joined(separator: ", ")) WHERE FALSE"
        let source = rows.isEmpty ? none : "VALUES \(rows.joined(separator: ", "))"
        return "given (\(names(columns))) AS MATERIALIZED (\(source))"
    }

    /// SQL for `deleted`, the given tokens that still existed and are now deleted, and for the insertion of their
    /// messages.
    ///
    /// - Parameters:
    ///   - user: the placeholder of the user's id.
    ///   - condition: the condition for any change.
    private static func handedOver(of user: String, where condition: String) -> String {
        let columns = PostgresOutbox.columns.map(\.name)
        return """
            same AS MATERIALIZED (
                SELECT t.client_id FROM apple_tokens AS t
                JOIN given AS g ON t.client_id = g.client_id AND t.token = g.token
                WHERE t.user_id = \(user) AND \(condition) ORDER BY t.client_id FOR UPDATE OF t
            ), deleted AS (
                DELETE FROM apple_tokens AS t USING same
                WHERE t.user_id = \(user) AND t.client_id = same.client_id RETURNING t.client_id
            ), added AS (
                INSERT INTO outbox (\(columns.joined(separator: ", ")))
                SELECT \(columns.map { "g.\($0)" }.joined(separator: ", "))
                FROM given AS g JOIN deleted AS d ON d.client_id = g.client_id ORDER BY g.key
                ON CONFLICT (key) DO NOTHING
            )
            """
    }
}
