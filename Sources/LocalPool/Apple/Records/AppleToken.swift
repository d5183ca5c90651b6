internal import Cryptography
internal import Encoding
internal import GRDB

/// An authorization code, a refresh token or an access token as stored: its hash only.
struct AppleToken: Sendable {
    enum Kind: String, Sendable {
        case code, refresh, access

        /// The first letter of such a token's text.
        var letter: String { rawValue.prefix(1).lowercased() }
    }

    var kind: Kind
    var sub: String
    var clientID: String
    /// Of the sign-in that a code is from.
    var nonce: String?
    /// When the user signed in.
    var authTime: Int64
    /// Nil for refresh tokens, which last until they are revoked.
    var expires: Int64?
    var usedAt: Int64?

    /// A new one's text, in the form of Apple's.
    static func text(_ kind: Kind, _ random: (Int) -> [UInt8]) -> String {
        "\(kind.letter)\(Hexadecimal.encode(random(16))).0.local.\(Base64URL.encode(random(16)))"
    }

    /// - Throws: a database error, also when the user has not agreed to this client's sign-ins.
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
