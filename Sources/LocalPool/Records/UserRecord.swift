internal import Cryptography
internal import Encoding
internal import GRDB

/// A user as stored.
struct UserRecord: Sendable {
    /// Cognito's UserStatus.
    enum Status: String, Sendable {
        case unconfirmed = "UNCONFIRMED"
        case confirmed = "CONFIRMED"
        /// Created by an administrator; the next sign-in requires a new password.
        case mustChangePassword = "FORCE_CHANGE_PASSWORD"
        /// An administrator has disabled the password.
        case mustResetPassword = "RESET_REQUIRED"
        /// The user of an identity provider, without a password in this pool.
        case externalProvider = "EXTERNAL_PROVIDER"
    }

    /// The data stored in place of the password.
    struct Credentials: Sendable {
        var passwordHash: String
        /// Nil for users from before the pool supported SRP, until their next sign-in with the password itself.
        var srp: SRPCredentials?
    }

    struct SRPCredentials: Sendable, Equatable {
        var salt: SRPNumber
        var verifier: SRPNumber
    }

    /// The user's UUID.
    var sub: String
    /// Empty for a user without an address, which only pools with other user names allow.
    var email: String
    var credentials: Credentials
    var status: Status
    var isEnabled = true
    var isEmailVerified: Bool
    var isPhoneVerified = false
    /// The attributes other than `sub`, `email` and the verification flags, in the order given.
    var attributes: JSONObject
    var groups: [String]
    var secondFactors = SecondFactors()
    /// The time at which a temporary password expires.
    var passwordExpires: Int64?
    var createdAt: Int64 = 0
    var changedAt: Int64 = 0
    var failedAttempts: Int64 = 0
    /// The time, in seconds, before which sign-in is blocked.
    var lockedUntil: Int64 = 0
    /// The chosen user name; nil if the user name is the `sub`, as in pools whose users sign in with an address.
    var chosenName: String?
    /// The identity at the provider, from which the user name is formed; nil for the pool's own users.
    var identity: FederatedIdentity?

    /// The real user name, as in tokens and challenges.
    var username: String { chosenName ?? sub }

    var isConfirmed: Bool { status != .unconfirmed }

    var phoneNumber: String? { attributes["phone_number"]?.stringValue }

    /// The medium for a code for a new password; nil without a verified address.
    var resetMedium: Message.Medium? {
        if isEmailVerified, !email.isEmpty { return .email }
        return isPhoneVerified && phoneNumber != nil ? .sms : nil
    }

    /// The value of an attribute; nil if the user does not have it.
    func value(of attribute: String) -> String? {
        attribute == "email" ? email.isEmpty ? nil : email : attributes[attribute]?.stringValue
    }

    /// The user with this name: a `sub`, or a name by the pool's rule.
    static func find(_ username: String, in database: Database) throws -> UserRecord? {
        try find(sub: UserNames.owner(of: username, in: database) ?? username, in: database)
    }

    /// The user with this `sub`, even if another user has it as a name.
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
    /// - Throws: UsernameExistsException if the user name is taken; AliasExistsException if another name of the user
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

    /// Stores everything except the count of wrong passwords.
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
    /// The JSON text for a text column.
    var text: String { String(decoding: encoded(), as: UTF8.self) }

    static func parse(text: String) throws -> JSON { try parse(Array(text.utf8)) }

    /// The strings of an array of strings.
    var strings: [String] { arrayValue?.compactMap(\.stringValue) ?? [] }
}
