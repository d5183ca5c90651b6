internal import GRDB

/// An Apple Account as stored, with its id for the single team.
struct AppleAccount: Sendable {
    var sub: String
    var email: String
    var isEmailVerified: Bool
    /// The address that apps receive if the user hides their own.
    var relayEmail: String
    var hidesEmail: Bool
    var givenName: String?
    var familyName: String?
    var realUserStatus: Int64

    func email(hidden: Bool) -> String { hidden ? relayEmail : email }

    /// - Parameter name: an e-mail address or a `sub`.
    static func find(_ name: String, in database: Database) throws -> AppleAccount? {
        let sql = "SELECT * FROM apple_accounts WHERE sub = ?1 OR email = ?1"
        return try Row.fetchOne(database, sql: sql, arguments: [name]).map(AppleAccount.init)
    }

    /// Stores the account; replaces one with the same `sub`.
    func save(in database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO apple_accounts
                    (sub, email, is_email_verified, relay_email, hides_email, given_name, family_name, real_user_status)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (sub) DO UPDATE SET
                    email = excluded.email, is_email_verified = excluded.is_email_verified,
                    hides_email = excluded.hides_email, given_name = excluded.given_name,
                    family_name = excluded.family_name, real_user_status = excluded.real_user_status
                """,
            arguments: [
                sub, email, isEmailVerified, relayEmail, hidesEmail, givenName, familyName, realUserStatus,
            ])
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM apple_accounts WHERE sub = ?", arguments: [sub])
    }
}

extension AppleAccount {
    fileprivate init(_ row: Row) {
        self.init(
            sub: row["sub"], email: row["email"], isEmailVerified: row["is_email_verified"],
            relayEmail: row["relay_email"], hidesEmail: row["hides_email"], givenName: row["given_name"],
            familyName: row["family_name"], realUserStatus: row["real_user_status"])
    }
}
