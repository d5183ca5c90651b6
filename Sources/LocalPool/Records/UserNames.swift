internal import Encoding
internal import GRDB

/// The names by which users are found. They follow from the pool's rule and each user's attributes.
enum UserNames {
    typealias Rule = LocalPoolConfiguration.NamingRule

    /// A name that another user already has.
    struct Taken: Error {
        /// The attribute that the name is from; nil for the real user name.
        let attribute: String?
    }

    private static let ruleName = "naming rule"

    /// Makes `rule` the pool's rule and recomputes the names of all users.
    ///
    /// - Throws: ``SeedError`` if two users would then have the same name.
    static func settle(_ rule: Rule, in database: Database) throws {
        guard try self.rule(in: database) != rule else { return }
        try database.execute(
            sql: "INSERT OR REPLACE INTO pool_values (name, value) VALUES (?, ?)",
            arguments: [ruleName, rule.json.text])
        try database.execute(sql: "DELETE FROM user_names")
        for user in try Row.fetchAll(database, sql: "SELECT * FROM users").map(UserRecord.init) {
            do {
                try store(of: user, in: database)
            } catch is Taken {
                throw SeedError(name: user.email.isEmpty ? user.username : user.email, problem: .sharesName)
            }
        }
    }

    static func rule(in database: Database) throws -> Rule? {
        let statement = try database.cachedStatement(sql: "SELECT value FROM pool_values WHERE name = ?")
        return try String.fetchOne(statement, arguments: [ruleName]).map { Rule(try JSON.parse(text: $0)) }
    }

    /// Stores the user's names; they replace the earlier ones.
    ///
    /// - Throws: ``Taken`` if a name belongs to another user.
    static func store(of user: UserRecord, in database: Database) throws {
        guard let rule = try rule(in: database) else { return }
        try database.execute(sql: "DELETE FROM user_names WHERE sub = ?", arguments: [user.sub])
        for name in rule.names(of: user) {
            let exact = rule.isCaseSensitive ? name.text : ""
            let owner = try String.fetchOne(
                database, sql: "SELECT sub FROM user_names WHERE folded = ? AND exact = ?",
                arguments: [folded(name.text), exact])
            guard owner == nil || owner == user.sub else { throw Taken(attribute: name.attribute) }
            try database.execute(
                sql: "INSERT OR REPLACE INTO user_names (folded, exact, sub) VALUES (?, ?, ?)",
                arguments: [folded(name.text), exact, user.sub])
        }
    }

    /// Removes the user's verified addresses from other users who have them as aliases (ForceAliasCreation).
    static func take(for user: UserRecord, in database: Database, now: Int64) throws {
        guard let rule = try rule(in: database), rule.hasUsernames else { return }
        for name in rule.names(of: user) where name.attribute != nil {
            guard let owner = try owner(of: name.text, in: database), owner != user.sub,
                var other = try UserRecord.find(sub: owner, in: database)
            else { continue }
            if name.attribute == "email" { other.isEmailVerified = false }
            if name.attribute == "phone_number" { other.isPhoneVerified = false }
            try other.update(in: database, now: now)
        }
    }

    /// The `sub` of the user with this name.
    static func owner(of name: String, in database: Database) throws -> String? {
        let statement = try database.cachedStatement(
            sql: "SELECT sub FROM user_names WHERE folded = ? AND exact IN ('', ?)")
        return try String.fetchOne(statement, arguments: [folded(name), name])
    }

    private static func folded(_ name: String) -> String { name.lowercased() }
}
