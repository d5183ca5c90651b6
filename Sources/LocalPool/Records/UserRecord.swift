internal import GRDB
internal import Pipeline

/// A user as stored.
struct UserRecord: Sendable {
    /// The user's UUID, which is also the real user name.
    var sub: String
    var email: String
    var passwordHash: String
    /// Confirming proves the e-mail address, so this is also `email_verified`.
    var isConfirmed: Bool
    /// Attributes other than `sub`, `email` and `email_verified`, in the order given.
    var attributes: JSONObject
    var groups: [String]
    var failedAttempts: Int64 = 0
    /// No sign-in before this second.
    var lockedUntil: Int64 = 0

    /// The user of this name, which is an e-mail address in any case or a `sub`.
    static func find(_ username: String, in database: Database) throws -> UserRecord? {
        let statement = try database.cachedStatement(sql: "SELECT * FROM users WHERE sub = ?1 OR email = ?1")
        return try Row.fetchOne(statement, arguments: [username]).map(UserRecord.init)
    }

    /// Adds the user.
    ///
    /// - Throws: UsernameExistsException if the e-mail address is taken.
    func insert(in database: Database, now: Int64) throws {
        do {
            try database.execute(
                sql: """
                    INSERT INTO users (sub, email, password_hash, is_confirmed, attributes, groups, created_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [sub, email, passwordHash, isConfirmed, attributesText, groupsText, now])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw PoolError.usernameExists
        }
    }

    /// Stores everything that a configuration can change.
    func update(in database: Database) throws {
        try database.execute(
            sql: """
                UPDATE users SET email = ?, password_hash = ?, is_confirmed = ?, attributes = ?, groups = ?
                WHERE sub = ?
                """,
            arguments: [email, passwordHash, isConfirmed, attributesText, groupsText, sub])
    }

    private var attributesText: String { String(decoding: JSON.object(attributes).encoded(), as: UTF8.self) }

    private var groupsText: String {
        String(decoding: JSON.array(groups.map(JSON.string)).encoded(), as: UTF8.self)
    }
}

extension UserRecord {
    init(_ row: Row) throws {
        let attributes: String = row["attributes"]
        let groups: String = row["groups"]
        self.init(
            sub: row["sub"], email: row["email"], passwordHash: row["password_hash"],
            isConfirmed: row["is_confirmed"],
            attributes: try JSON.parse(Array(attributes.utf8)).objectValue ?? [:],
            groups: try JSON.parse(Array(groups.utf8)).arrayValue?.compactMap(\.stringValue) ?? [],
            failedAttempts: row["failed_attempts"], lockedUntil: row["locked_until"])
    }
}
