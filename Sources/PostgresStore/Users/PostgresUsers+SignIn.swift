internal import Postgres
package import Store

extension PostgresUsers {
    package func signIn(_ signIn: UserSignIn) async throws -> UserSignInStep {
        var signIn = signIn
        for _ in 0..<Self.tries {
            // A sign-in that conflicts with a faster one is rolled back completely and retried.
            let step = try await store.repeated(after: [Self.onceSpent, Self.userOfToken]) { [signIn] in
                try await signInOnce(signIn)
            }
            if let step { return step }
            // From here on the identity token is used, whatever the result for the user.
            signIn.proof = nil
        }
        throw StoreError.rowVanished
    }

    /// The maximum number of attempts if the user changes meanwhile.
    private static let tries = 5

    /// - Returns: nil if the user was refused but the reason for that no longer exists.
    private func signInOnce(_ signIn: UserSignIn) async throws -> UserSignInStep? {
        // Apple's token is sealed for one user. If another user is found, the insertion violates ``userOfToken``.
        var token: AppleTokenRecord?
        if let make = signIn.appleToken {
            let known = try await user(issuer: signIn.user.issuer, subject: signIn.user.subject)
            token = make(known?.id ?? signIn.user.id)
        }
        let (sql, values) = Self.signingIn(signIn, token)
        guard let row = try await store.rows(sql, values).first else { throw StoreError.rowVanished }
        switch try Self.spendingStep(row) {
        case .replayed: return .replayed
        case .nonceReused: return .nonceReused
        case .spent: break
        }
        if try row.optional(PostgresRow.text, "id") != nil {
            return .signedIn(try UserRecord(row), isNew: try row.boolean("is_new"))
        }
        let known = try await user(issuer: signIn.user.issuer, subject: signIn.user.subject)
        if let known, known.disabledAt != nil { return .disabled(known) }
        if let known, !known.mayTake(role: signIn.user.role) { return .otherRole(known) }
        return nil
    }

    /// The statement of a sign-in. It returns one row, whose user columns are NULL if nobody was signed in.
    ///
    /// It locks the user's row even if nothing in it changes: a statement that disables the user or sets a role waits
    /// for it and then finds the session.
    private static func signingIn(
        _ signIn: UserSignIn, _ token: AppleTokenRecord?
    ) -> (sql: String, values: [PostgresValue]) {
        var parameters = PostgresParameters()
        let spending = spending(signIn.proof, &parameters)
        let parts = signIn.proof.map { $0.nonce == nil ? 1 : 2 } ?? 0
        let user = list(userColumns, signIn.user.values, &parameters)
        // The user's id is that of the user found.
        var session = zip(sessionColumns, signIn.session.values).map { column, value in
            column.name == "user_id" ? "s.id" : "\(parameters.add(value))::\(column.type)"
        }.joined(separator: ", ")
        session = "SELECT \(session) FROM signed_in AS s"
        let sql = """
            WITH \(spending), signed_in AS (
                INSERT INTO users AS u (\(names(userColumns)))
                SELECT \(user) WHERE (SELECT count(*) FROM used) = \(parts)
                ON CONFLICT (issuer, subject) DO UPDATE SET \(broughtUpToDate)
                WHERE u.disabled_at IS NULL AND (u.role = excluded.role) IS NOT FALSE
                RETURNING \(userList()), u.xmax = 0 AS is_new
            ), session AS (
                INSERT INTO user_sessions (\(names(sessionColumns))) \(session)
            )\(token.map { keeping($0, &parameters) } ?? "")
            SELECT known.*, s.* FROM known LEFT JOIN signed_in AS s ON TRUE
            """
        return (sql, parameters.values)
    }

    /// The changes to a known user `u`: one without a role takes the app's, and a given address replaces the previous
    /// one, unless a later statement about it is stored. An inserted row has no `xmax`; a row that was found has this
    /// transaction's.
    private static let broughtUpToDate =
        "role = COALESCE(u.role, excluded.role), "
        + ["email", "email_verified", "is_private_email", "email_as_of"].map {
            """
            \($0) = CASE WHEN excluded.email IS NOT NULL AND excluded.email_as_of >= u.email_as_of
                THEN excluded.\($0) ELSE u.\($0) END
            """
        }.joined(separator: ", ")

    private static func keeping(_ token: AppleTokenRecord, _ parameters: inout PostgresParameters) -> String {
        """
        , kept AS (
            INSERT INTO apple_tokens (\(names(tokenColumns)))
            SELECT \(list(tokenColumns, token.values, &parameters)) FROM signed_in
            ON CONFLICT (user_id, client_id) DO UPDATE SET \(replacedToken)
        )
        """
    }

    static func names(_ columns: [(name: String, type: String)]) -> String {
        columns.map(\.name).joined(separator: ", ")
    }

    /// Placeholders for the values, cast to the columns' types.
    static func list(
        _ columns: [(name: String, type: String)], _ values: [PostgresValue], _ parameters: inout PostgresParameters
    ) -> String {
        zip(columns, values).map { "\(parameters.add($1))::\($0.type)" }.joined(separator: ", ")
    }
}
