internal import GRDB

/// A user's consent to sign in to an app. It ends with all its tokens when the user or the app withdraws it; the next
/// sign-in is then a first one.
struct AppleConsent: Sendable {
    var sub: String
    var clientID: String
    /// The user's choice at the first sign-in.
    var hidesEmail: Bool

    static func find(_ sub: String, _ clientID: String, in database: Database) throws -> AppleConsent? {
        try Row.fetchOne(
            database, sql: "SELECT hides_email FROM apple_consents WHERE sub = ? AND client_id = ?",
            arguments: [sub, clientID]
        ).map { AppleConsent(sub: sub, clientID: clientID, hidesEmail: $0["hides_email"]) }
    }

    func insert(in database: Database) throws {
        try database.execute(
            sql: "INSERT INTO apple_consents (sub, client_id, hides_email) VALUES (?, ?, ?)",
            arguments: [sub, clientID, hidesEmail])
    }

    static func withdraw(_ sub: String, _ clientID: String, in database: Database) throws {
        try database.execute(
            sql: "DELETE FROM apple_consents WHERE sub = ? AND client_id = ?", arguments: [sub, clientID])
    }

    /// The user's apps with the number of refresh tokens of each.
    static func list(of sub: String, in database: Database) throws -> [(clientID: String, refreshTokens: Int64)] {
        try Row.fetchAll(
            database,
            sql: """
                SELECT client_id, (SELECT count(*) FROM apple_tokens t
                    WHERE t.sub = c.sub AND t.client_id = c.client_id AND kind = 'refresh') AS refresh_tokens
                FROM apple_consents c WHERE sub = ? ORDER BY client_id
                """, arguments: [sub]
        ).map { ($0["client_id"], $0["refresh_tokens"]) }
    }
}
