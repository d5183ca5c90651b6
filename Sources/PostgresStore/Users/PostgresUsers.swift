internal import Postgres
package import Store

/// Users, their sessions, and their sign-in proofs, in PostgreSQL: a sign-in is one statement. Expired rows are removed
/// only by ``removeEnded(now:)``.
///
/// To avoid deadlocks, all statements lock rows in this order: used proofs, the user, sessions, Apple tokens, messages;
/// each in key order.
package struct PostgresUsers: Sendable {
    static let migrations = [
        PostgresStore.Migration(
            name: "users-1",
            statements: [
                """
                CREATE TABLE users (
                    id text COLLATE "C" PRIMARY KEY,
                    issuer text COLLATE "C" NOT NULL,
                    subject text COLLATE "C" NOT NULL,
                    name text COLLATE "C",
                    email text COLLATE "C",
                    email_verified boolean NOT NULL,
                    is_private_email boolean NOT NULL,
                    email_as_of bigint NOT NULL,
                    phone_number text COLLATE "C",
                    role text COLLATE "C",
                    created_at bigint NOT NULL,
                    disabled_at bigint,
                    UNIQUE (issuer, subject)
                )
                """,
                "CREATE INDEX users_by_email ON users (email) WHERE email IS NOT NULL",
                """
                CREATE TABLE user_sessions (
                    id text COLLATE "C" PRIMARY KEY,
                    user_id text COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
                    rotation bigint NOT NULL,
                    successor bytea,
                    retry_until bigint NOT NULL,
                    auth_time bigint NOT NULL,
                    device_id text COLLATE "C",
                    platform text COLLATE "C",
                    created_at bigint NOT NULL,
                    refreshed_at bigint NOT NULL,
                    expires_at bigint NOT NULL,
                    previous_expires_at bigint NOT NULL,
                    ends_at bigint NOT NULL,
                    ended_at bigint,
                    device_name text COLLATE "C",
                    device_model text COLLATE "C",
                    os_version text COLLATE "C",
                    app_version text COLLATE "C"
                )
                """,
                "CREATE INDEX user_sessions_by_user ON user_sessions (user_id)",
                "CREATE INDEX user_sessions_by_end ON user_sessions (ends_at)",
                "CREATE INDEX user_sessions_by_successor ON user_sessions (refreshed_at) WHERE successor IS NOT NULL",
                "CREATE INDEX user_sessions_superseded ON user_sessions (previous_expires_at) WHERE rotation > 0",
                """
                CREATE TABLE spent (
                    digest bytea CONSTRAINT \(onceSpent) PRIMARY KEY,
                    ends_at bigint NOT NULL
                )
                """,
                "CREATE INDEX spent_by_end ON spent (ends_at)",
                // No cascade: a token that has not been handed over prevents the deletion of its user.
                """
                CREATE TABLE apple_tokens (
                    user_id text COLLATE "C" NOT NULL CONSTRAINT \(userOfToken) REFERENCES users (id),
                    client_id text COLLATE "C" NOT NULL,
                    token bytea NOT NULL,
                    kept_at bigint NOT NULL,
                    validated_at bigint NOT NULL,
                    PRIMARY KEY (user_id, client_id)
                )
                """,
                "CREATE INDEX apple_tokens_by_validation ON apple_tokens (validated_at)",
            ])
    ]

    /// The constraints that roll back a statement that conflicts with faster writes.
    static let onceSpent = "spent_once"
    static let userOfToken = "apple_tokens_user"

    let store: PostgresStore
    let clock: any RecordClock

    /// - Parameter clock: the clock by which records expire, as protection against a time of day that is ahead.
    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }
}

extension PostgresUsers: UserRecords {
    package func user(_ id: String) async throws -> UserRecord? {
        guard id.mayBeStored else { return nil }
        return try await store.rows("SELECT \(Self.userList()) FROM users AS u WHERE u.id = $1", [.text(id)]).first
            .map { try UserRecord($0) }
    }

    package func user(issuer: String, subject: String) async throws -> UserRecord? {
        try await store.rows(
            "SELECT \(Self.userList()) FROM users AS u WHERE u.issuer = $1 AND u.subject = $2",
            [.text(issuer), .text(subject)]
        ).first.map { try UserRecord($0) }
    }

    package func users(matching text: String?, after: String, limit: Int) async throws -> [UserRecord] {
        guard after.mayBeStored, text?.mayBeStored != false else { return [] }
        let condition = """
            ($3::text IS NULL OR u.id = $3 OR u.subject = $3 OR starts_with(u.email, $3) OR starts_with(u.name, $3))
            """
        return try await store.rows(
            "SELECT \(Self.userList()) FROM users AS u WHERE u.id > $1 AND \(condition) ORDER BY u.id LIMIT $2",
            [.text(after), .integer(limit), .optional(text)]
        ).map { try UserRecord($0) }
    }

    package func setEmail(_ email: VouchedEmail?, asOf time: Int64, of id: String) async throws -> UserRecord? {
        // Each column is conditional, so that the row is always updated and returned, in its state after faster
        // writers.
        let values = [
            ("email", "$2::text"), ("email_verified", "$3"), ("is_private_email", "$4"), ("email_as_of", "$5"),
        ]
        let changes = values.map { "\($0) = CASE WHEN u.email_as_of <= $5 THEN \($1) ELSE u.\($0) END" }
        return try await change(
            changes.joined(separator: ", "), of: id,
            [
                .optional(email?.address), .boolean(email?.isVerified ?? false), .boolean(email?.isPrivate ?? false),
                .integer(time),
            ])
    }

    package func setRole(_ role: String?, of id: String) async throws -> UserRecord? {
        try await change("role = $2::text", of: id, [.optional(role)])
    }

    package func change(_ change: UserChange, of id: String) async throws -> UserRecord? {
        let ((setsName, name), (setsNumber, number)) = (change.name.parts, change.phoneNumber.parts)
        return try await self.change(
            """
            name = CASE WHEN $2 THEN $3::text ELSE u.name END,
            phone_number = CASE WHEN $4 THEN $5::text ELSE u.phone_number END
            """, of: id,
            [.boolean(setsName), .optional(name), .boolean(setsNumber), .optional(number)])
    }

    package func setDisabled(at time: Int64?, of id: String) async throws -> UserRecord? {
        try await change("disabled_at = $2::bigint", of: id, [.optional(time.map(clock.sharedTime))])
    }

    /// - Parameter values: `$2` and the following ones.
    private func change(_ columns: String, of id: String, _ values: [PostgresValue]) async throws -> UserRecord? {
        guard id.mayBeStored else { return nil }
        return try await store.rows(
            "UPDATE users AS u SET \(columns) WHERE u.id = $1 RETURNING \(Self.userList())", [.text(id)] + values
        ).first.map { try UserRecord($0) }
    }
}

extension UserChange.Value {
    fileprivate var parts: (isSet: Bool, value: String?) {
        switch self {
        case .unchanged: (false, nil)
        case .set(let value): (true, value)
        }
    }
}

extension String {
    /// Whether PostgreSQL can store the text: U+0000 is not allowed in it. Nothing is stored under such a name.
    var mayBeStored: Bool { !utf8.contains(0) }
}

extension PostgresUsers {
    /// The columns with their types: a NULL parameter has no type of its own.
    static let userColumns: [(name: String, type: String)] = [
        ("id", "text"), ("issuer", "text"), ("subject", "text"), ("name", "text"), ("email", "text"),
        ("email_verified", "boolean"), ("is_private_email", "boolean"), ("email_as_of", "bigint"),
        ("phone_number", "text"), ("role", "text"), ("created_at", "bigint"), ("disabled_at", "bigint"),
    ]

    /// The columns, qualified with the alias `u`.
    ///
    /// - Parameter prefix: the prefix of their names in the result.
    static func userList(prefix: String = "") -> String {
        userColumns.map { "u.\($0.name) AS \(prefix)\($0.name)" }.joined(separator: ", ")
    }
}

extension UserRecord {
    /// The values in the order of the columns.
    var values: [PostgresValue] {
        [
            .text(id), .text(issuer), .text(subject), .optional(name), .optional(email), .boolean(emailVerified),
            .boolean(isPrivateEmail), .integer(emailAsOf), .optional(phoneNumber), .optional(role),
            .integer(createdAt), .optional(disabledAt),
        ]
    }

    init(_ row: PostgresRow, prefix: String = "") throws {
        self.init(
            id: try row.text(prefix + "id"), issuer: try row.text(prefix + "issuer"),
            subject: try row.text(prefix + "subject"), name: try row.optional(PostgresRow.text, prefix + "name"),
            email: try row.optional(PostgresRow.text, prefix + "email"),
            emailVerified: try row.boolean(prefix + "email_verified"),
            isPrivateEmail: try row.boolean(prefix + "is_private_email"),
            emailAsOf: try row.integer(prefix + "email_as_of"),
            phoneNumber: try row.optional(PostgresRow.text, prefix + "phone_number"),
            role: try row.optional(PostgresRow.text, prefix + "role"),
            createdAt: try row.integer(prefix + "created_at"),
            disabledAt: try row.optional(PostgresRow.integer, prefix + "disabled_at"))
    }
}
