internal import FoundationEssentials
internal import GRDB

/// Users, their sessions, and their sign-in proofs, in one SQLite database: a sign-in is one transaction.
package struct StoredUsers: Sendable {
    package static let migrations = [
        Store.Migration(
            name: "users-1",
            sql: """
                CREATE TABLE users (
                    id TEXT NOT NULL PRIMARY KEY,
                    issuer TEXT NOT NULL,
                    subject TEXT NOT NULL,
                    name TEXT,
                    email TEXT,
                    email_verified INTEGER NOT NULL,
                    is_private_email INTEGER NOT NULL,
                    phone_number TEXT,
                    role TEXT,
                    created_at INTEGER NOT NULL,
                    disabled_at INTEGER,
                    UNIQUE (issuer, subject)
                ) STRICT;
                CREATE INDEX users_by_email ON users (email) WHERE email IS NOT NULL;
                CREATE TABLE user_sessions (
                    id TEXT NOT NULL PRIMARY KEY,
                    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
                    rotation INTEGER NOT NULL,
                    successor BLOB,
                    answer_may_be_lost INTEGER NOT NULL,
                    auth_time INTEGER NOT NULL,
                    device_id TEXT,
                    platform TEXT,
                    created_at INTEGER NOT NULL,
                    refreshed_at INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    previous_expires_at INTEGER NOT NULL,
                    ends_at INTEGER NOT NULL,
                    ended_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX user_sessions_by_user ON user_sessions (user_id);
                CREATE INDEX user_sessions_by_end ON user_sessions (ends_at);
                CREATE INDEX user_sessions_by_successor ON user_sessions (refreshed_at) WHERE successor IS NOT NULL;
                CREATE INDEX user_sessions_superseded ON user_sessions (previous_expires_at) WHERE rotation > 0;
                CREATE TABLE spent (
                    digest BLOB NOT NULL PRIMARY KEY,
                    ends_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX spent_by_end ON spent (ends_at);
                CREATE TABLE apple_tokens (
                    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
                    client_id TEXT NOT NULL,
                    token BLOB NOT NULL,
                    kept_at INTEGER NOT NULL,
                    validated_at INTEGER NOT NULL,
                    PRIMARY KEY (user_id, client_id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX apple_tokens_by_validation ON apple_tokens (validated_at);
                """),
        // An earlier flag of 1 becomes a time in the distant past.
        Store.Migration(
            name: "users-2", sql: "ALTER TABLE user_sessions RENAME COLUMN answer_may_be_lost TO retry_until"),
        Store.Migration(
            name: "users-3", sql: "ALTER TABLE users ADD COLUMN email_as_of INTEGER NOT NULL DEFAULT 0"),
        Store.Migration(name: "users-4", sql: SessionDevice.migration("user_sessions")),
    ]

    let store: Store

    package init(_ store: Store) {
        self.store = store
    }
}

extension StoredUsers: UserRecords {
    package func user(_ id: String) async throws -> UserRecord? {
        try await store.read { try Self.user(id, in: $0) }
    }

    package func user(issuer: String, subject: String) async throws -> UserRecord? {
        try await store.lookUp { try Self.user(issuer: issuer, subject: subject, in: $0) }
    }

    package func users(matching text: String?, after: String, limit: Int) async throws -> [UserRecord] {
        // Prefixes are compared literally, so nothing in the text acts as a pattern.
        let condition =
            text == nil ? "TRUE" : "(id = ?2 OR subject = ?2 OR instr(email, ?2) = 1 OR instr(name, ?2) = 1)"
        return try await store.read { database in
            try Row.fetchAll(
                database, sql: "SELECT * FROM users WHERE id > ?1 AND \(condition) ORDER BY id LIMIT \(limit)",
                arguments: [after] + (text.map { [$0] } ?? [])
            ).map(UserRecord.init)
        }
    }

    package func setEmail(_ email: VouchedEmail?, asOf time: Int64, of id: String) async throws -> UserRecord? {
        try await store.write { database in
            try Self.setEmail(email, asOf: time, of: id, in: database)
            return try Self.user(id, in: database)
        }
    }

    package func setRole(_ role: String?, of id: String) async throws -> UserRecord? {
        try await store.write { database in
            try Self.setRole(role, of: id, in: database)
            return try Self.user(id, in: database)
        }
    }

    static func setRole(_ role: String?, of id: String, in database: Database) throws {
        try database.execute(sql: "UPDATE users SET role = ? WHERE id = ?", arguments: [role, id])
    }

    package func change(_ change: UserChange, of id: String) async throws -> UserRecord? {
        try await store.write { database in
            if case .set(let name) = change.name {
                try database.execute(sql: "UPDATE users SET name = ? WHERE id = ?", arguments: [name, id])
            }
            if case .set(let number) = change.phoneNumber {
                try database.execute(sql: "UPDATE users SET phone_number = ? WHERE id = ?", arguments: [number, id])
            }
            return try Self.user(id, in: database)
        }
    }

    package func setDisabled(at time: Int64?, of id: String) async throws -> UserRecord? {
        try await store.write { database in
            try database.execute(sql: "UPDATE users SET disabled_at = ? WHERE id = ?", arguments: [time, id])
            return try Self.user(id, in: database)
        }
    }

    package func delete(_ id: String, handingOver handOver: AppleTokenHandOver?) async throws -> UserRecord? {
        let user = try await store.write { database in
            let user = try Self.user(id, in: database)
            // Tokens added after the others were handed over: few, so no limit applies.
            if let handOver { try Self.handOver(handOver, of: id, in: database) }
            // Sessions and Apple tokens are deleted with it.
            try database.execute(sql: "DELETE FROM users WHERE id = ?", arguments: [id])
            return user
        }
        if user != nil { try await store.emptyLog() }
        return user
    }

    // MARK: Statements

    static func user(_ id: String, in database: Database) throws -> UserRecord? {
        try Row.fetchOne(database.cachedStatement(sql: "SELECT * FROM users WHERE id = ?"), arguments: [id])
            .map(UserRecord.init)
    }

    static func user(issuer: String, subject: String, in database: Database) throws -> UserRecord? {
        try Row.fetchOne(
            database.cachedStatement(sql: "SELECT * FROM users WHERE issuer = ? AND subject = ?"),
            arguments: [issuer, subject]
        ).map(UserRecord.init)
    }

    static func setEmail(
        _ email: VouchedEmail?, asOf time: Int64, of id: String, in database: Database
    ) throws {
        try database.execute(
            sql: """
                UPDATE users SET email = ?1, email_verified = ?2, is_private_email = ?3, email_as_of = ?4
                WHERE id = ?5 AND email_as_of <= ?4
                """,
            arguments: [email?.address, email?.isVerified ?? false, email?.isPrivate ?? false, time, id])
    }

    static func insert(_ user: UserRecord, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO users (id, issuer, subject, name, email, email_verified, is_private_email, email_as_of,
                    phone_number, role, created_at, disabled_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            user.id, user.issuer, user.subject, user.name, user.email, user.emailVerified, user.isPrivateEmail,
            user.emailAsOf, user.phoneNumber, user.role, user.createdAt, user.disabledAt,
        ])
    }
}

extension UserRecord {
    init(_ row: Row) {
        self.init(
            id: row["id"], issuer: row["issuer"], subject: row["subject"], name: row["name"], email: row["email"],
            emailVerified: row["email_verified"], isPrivateEmail: row["is_private_email"],
            emailAsOf: row["email_as_of"], phoneNumber: row["phone_number"], role: row["role"],
            createdAt: row["created_at"], disabledAt: row["disabled_at"])
    }
}
