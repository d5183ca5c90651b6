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
        /// From another identity provider, without a password here.
        case externalProvider = "EXTERNAL_PROVIDER"
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

    /// The user's UUID.
    var sub: String
    /// Empty for a user without one, which only pools with other names have.
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
    /// The user name that was chosen; nil where it is the `sub`, as in pools whose users sign in with an address.
    var chosenName: String?
    /// For users of an identity provider: the one that their chosen name is made of.
    var identity: FederatedIdentity?

    /// The real user name, which tokens and challenges hold.
    var username: String { chosenName ?? sub }

    var isConfirmed: Bool { status != .unconfirmed }

    var phoneNumber: String? { attributes["phone_number"]?.stringValue }

    /// How a code for a new password reaches the user; nil without a verified address.
    var resetMedium: Message.Medium? {
        if isEmailVerified, !email.isEmpty { return .email }
        return isPhoneVerified && phoneNumber != nil ? .sms : nil
    }

    /// The value of an attribute; nil if the user has none.
    func value(of attribute: String) -> String? {
        attribute == "email" ? email.isEmpty ? nil : email : attributes[attribute]?.stringValue
    }

    /// The user of this name, which is a `sub` or one that the pool's rule gives the user.
    static func find(_ username: String, in database: Database) throws -> UserRecord? {
        try find(sub: UserNames.owner(of: username, in: database) ?? username, in: database)
    }

    /// The user of this `sub`, also where it is another user's name.
    static func find(sub: String, in database: Database) throws -> UserRecord? {
        let statement = try database.cachedStatement(sql: "SELECT * FROM users WHERE sub = ?")
        return try Row.fetchOne(statement, arguments: [sub]).map(UserRecord.init)
    }

    /// All users, oldest first.
    static func all(in database: Database) throws -> [UserRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM users ORDER BY created_at, sub").map(UserRecord.init)
    }

    /// Adds the user.
    ///
    /// - Throws: UsernameExistsException if the user name is taken, AliasExistsException if another of the user's names
    ///   is.
    func insert(in database: Database, now: Int64) throws {
        try database.execute(
            sql: """
                INSERT INTO users (sub, username, password_hash, attributes, groups, created_at)
                VALUES (?, ?, '', '{}', '[]', ?)
                """,
            arguments: [sub, chosenName ?? "", now])
        do {
            try save(in: database, now: now)
        } catch let taken as UserNames.Taken {
            let isUsername = try taken.attribute == nil || UserNames.rule(in: database)?.hasUsernames == false
            throw isUsername ? PoolError.usernameExists(taken.attribute) : .aliasExists(taken.attribute)
        }
    }

    /// Stores everything but the count of wrong passwords.
    ///
    /// - Throws: AliasExistsException if one of the user's names is taken.
    func update(in database: Database, now: Int64) throws {
        do {
            try save(in: database, now: now)
        } catch let taken as UserNames.Taken {
            throw PoolError.aliasExists(taken.attribute)
        }
    }

    private func save(in database: Database, now: Int64) throws {
        let values: StatementArguments = [
            email, credentials.passwordHash, credentials.srp?.salt.hex, credentials.srp?.verifier.hex,
            status.rawValue, isEnabled, isEmailVerified, isPhoneVerified, JSON.object(attributes).text,
            JSON.array(groups.map(JSON.string)).text, passwordExpires, now, identity?.stored,
        ]
        try database.execute(
            sql: """
                UPDATE users SET email = ?, password_hash = ?, srp_salt = ?, srp_verifier = ?, status = ?,
                    is_enabled = ?, is_email_verified = ?, is_phone_verified = ?, attributes = ?, groups = ?,
                    password_expires_at = ?, changed_at = ?, identity = ?
                WHERE sub = ?
                """,
            arguments: values + [sub])
        try UserNames.store(of: self, in: database)
        try secondFactors.update(of: sub, in: database)
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM users WHERE sub = ?", arguments: [sub])
        try database.execute(sql: "DELETE FROM attempts WHERE who = ?", arguments: [sub])
    }
}

extension UserRecord {
    init(_ row: Row) throws {
        let username: String = row["username"]
        self.init(
            sub: row["sub"], email: row["email"],
            credentials: Credentials(passwordHash: row["password_hash"], srp: SRPCredentials(row)),
            status: Status(rawValue: row["status"]) ?? .unconfirmed, isEnabled: row["is_enabled"],
            isEmailVerified: row["is_email_verified"], isPhoneVerified: row["is_phone_verified"],
            attributes: try JSON.parse(text: row["attributes"]).objectValue ?? [:],
            groups: try JSON.parse(text: row["groups"]).strings, secondFactors: try SecondFactors(row),
            passwordExpires: row["password_expires_at"], createdAt: row["created_at"], changedAt: row["changed_at"],
            failedAttempts: row["failed_attempts"], lockedUntil: row["locked_until"],
            chosenName: username.isEmpty ? nil : username,
            identity: FederatedIdentity(stored: row["identity"]))
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
