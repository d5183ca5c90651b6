internal import Cryptography
internal import Encoding
internal import GRDB

/// A user as stored.
struct UserRecord: Sendable {
    /// Cognito's UserStatus.
    enum Status: String, Sendable {
        case unconfirmed = "UNCONFIRMED"
        case confirmed = "CONFIRMED"
        /// Made by an administrator; signing in asks for a password of the user's own.
        case mustChangePassword = "FORCE_CHANGE_PASSWORD"
        /// An administrator has put the password out of use.
        case mustResetPassword = "RESET_REQUIRED"
    }

    /// The data stored in place of the password.
    struct Credentials: Sendable {
        var passwordHash: String
        /// Absent for users from before the pool had SRP, until they next sign in with the password itself.
        var srp: SRPCredentials?
    }

    struct SRPCredentials: Sendable, Equatable {
        var salt: SRPNumber
        var verifier: SRPNumber
    }

    /// The user's UUID, which is also the real user name.
    var sub: String
    var email: String
    var credentials: Credentials
    var status: Status
    var isEnabled = true
    var isEmailVerified: Bool
    var isPhoneVerified = false
    /// Attributes other than `sub`, `email` and what says that one is verified, in the order given.
    var attributes: JSONObject
    var groups: [String]
    var secondFactors = SecondFactors()
    /// When a temporary password ends.
    var passwordExpires: Int64?
    var createdAt: Int64 = 0
    var changedAt: Int64 = 0
    var failedAttempts: Int64 = 0
    /// No sign-in before this second.
    var lockedUntil: Int64 = 0

    var isConfirmed: Bool { status != .unconfirmed }

    var phoneNumber: String? { attributes["phone_number"]?.stringValue }

    /// The user of this name, which is an e-mail address in any case, a `sub` or a telephone number that is proven.
    static func find(_ username: String, in database: Database) throws -> UserRecord? {
        let condition =
            username.utf8.first == UInt8(ascii: "+")
            ? "is_phone_verified AND json_extract(attributes, '$.phone_number') = ?1" : "sub = ?1 OR email = ?1"
        let statement = try database.cachedStatement(sql: "SELECT * FROM users WHERE \(condition)")
        return try Row.fetchOne(statement, arguments: [username]).map(UserRecord.init)
    }

    /// Adds the user.
    ///
    /// - Throws: UsernameExistsException if the e-mail address is taken.
    func insert(in database: Database, now: Int64) throws {
        do {
            try database.execute(
                sql: """
                    INSERT INTO users (sub, email, password_hash, attributes, groups, created_at)
                    VALUES (?, ?, '', '{}', '[]', ?)
                    """,
                arguments: [sub, email, now])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw PoolError.usernameExists
        }
        try update(in: database, now: now)
    }

    /// Stores everything but the count of wrong passwords.
    ///
    /// - Throws: AliasExistsException if the e-mail address is taken.
    func update(in database: Database, now: Int64) throws {
        let values: StatementArguments = [
            email, credentials.passwordHash, credentials.srp?.salt.hex, credentials.srp?.verifier.hex, status.rawValue,
            isEnabled, isEmailVerified, isPhoneVerified, JSON.object(attributes).text,
            JSON.array(groups.map(JSON.string)).text, passwordExpires, now,
        ]
        do {
            try database.execute(
                sql: """
                    UPDATE users SET email = ?, password_hash = ?, srp_salt = ?, srp_verifier = ?, status = ?,
                        is_enabled = ?, is_email_verified = ?, is_phone_verified = ?, attributes = ?, groups = ?,
                        password_expires_at = ?, changed_at = ?
                    WHERE sub = ?
                    """,
                arguments: values + [sub])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw PoolError.aliasExists
        }
        try secondFactors.update(of: sub, in: database)
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM users WHERE sub = ?", arguments: [sub])
        try database.execute(sql: "DELETE FROM attempts WHERE who = ?", arguments: [sub])
    }
}

extension UserRecord {
    init(_ row: Row) throws {
        self.init(
            sub: row["sub"], email: row["email"],
            credentials: Credentials(passwordHash: row["password_hash"], srp: SRPCredentials(row)),
            status: Status(rawValue: row["status"]) ?? .unconfirmed, isEnabled: row["is_enabled"],
            isEmailVerified: row["is_email_verified"], isPhoneVerified: row["is_phone_verified"],
            attributes: try JSON.parse(text: row["attributes"]).objectValue ?? [:],
            groups: try JSON.parse(text: row["groups"]).strings, secondFactors: try SecondFactors(row),
            passwordExpires: row["password_expires_at"], createdAt: row["created_at"], changedAt: row["changed_at"],
            failedAttempts: row["failed_attempts"], lockedUntil: row["locked_until"])
    }
}

extension UserRecord.SRPCredentials {
    fileprivate init?(_ row: Row) {
        let (salt, verifier): (String?, String?) = (row["srp_salt"], row["srp_verifier"])
        guard let salt = salt.flatMap({ SRPNumber(hex: $0) }), let verifier = verifier.flatMap({ SRPNumber(hex: $0) })
        else { return nil }
        self.init(salt: salt, verifier: verifier)
    }
}

extension JSON {
    /// As stored in a text column.
    var text: String { String(decoding: encoded(), as: UTF8.self) }

    static func parse(text: String) throws -> JSON { try parse(Array(text.utf8)) }

    /// The strings of an array of strings.
    var strings: [String] { arrayValue?.compactMap(\.stringValue) ?? [] }
}
