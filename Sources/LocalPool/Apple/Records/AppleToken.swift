internal import Cryptography
internal import Encoding
internal import GRDB

/// An authorization code, refresh token or access token as stored, identified by its hash only.
struct AppleToken: Sendable {
    enum Kind: String, Sendable {
        case code, refresh, access

        /// The first letter of the token's text.
        var letter: String { rawValue.prefix(1).lowercased() }
    }

    var kind: Kind
    var sub: String
    var clientID: String
    /// The nonce of a code's sign-in.
    var nonce: String?
    /// The time of the user's sign-in.
    var authTime: Int64
    /// Nil for refresh tokens, which are valid until they are revoked.
    var expires: Int64?
    var usedAt: Int64?

    /// The text of a new token, in Apple's format.
    static func text(_ kind: Kind, _ random: (Int) -> [UInt8]) -> String {
        "\(kind.letter)\(Hexadecimal.encode(random(16))).0.local.\(Base64URL.encode(random(16)))"
    }

    /// - Throws: a database error, also if the user has not consented to this client.
    func insert(_ text: String, in database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO apple_tokens (token_hash, kind, sub, client_id, nonce, auth_time, expires_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [Self.hash(text), kind.rawValue, sub, clientID, nonce, authTime, expires])
    }

    static func find(_ text: String, in database: Database) throws -> AppleToken? {
        try Row.fetchOne(
            database, sql: "SELECT * FROM apple_tokens WHERE token_hash = ?", arguments: [hash(text)]
        ).flatMap(AppleToken.init)
    }

    static func markUsed(_ text: String, in database: Database, now: Int64) throws {
        try database.execute(
            sql: "UPDATE apple_tokens SET used_at = ? WHERE token_hash = ?", arguments: [now, hash(text)])
    }

    static func removeExpired(in database: Database, now: Int64) throws {
        try database.execute(sql: "DELETE FROM apple_tokens WHERE expires_at <= ?", arguments: [now])
    }

    private static func hash(_ text: String) -> String { Base64URL.encode(SHA256.hash(Array(text.utf8))) }
}

extension AppleToken {
    fileprivate init?(_ row: Row) {
        guard let kind = Kind(rawValue: row["kind"]) else { return nil }
        self.init(
            kind: kind, sub: row["sub"], clientID: row["client_id"], nonce: row["nonce"], authTime: row["auth_time"],
            expires: row["expires_at"], usedAt: row["used_at"])
    }
}
