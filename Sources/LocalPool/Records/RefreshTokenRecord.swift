internal import Cryptography
internal import GRDB
internal import Pipeline

/// A refresh token as stored: its hash only.
struct RefreshTokenRecord: Sendable {
    /// SHA-256 of the token, base64url.
    var hash: String
    /// The id all tokens from one sign-in share.
    var originJTI: String
    var sub: String
    /// When the user signed in; refreshing doesn't change it.
    var authTime: Int64
    var expires: Int64
    /// When a rotation put another token in its place.
    var replacedAt: Int64?

    /// Base64url of these many random bytes is as long as Cognito's own tokens, about 1.8 kB.
    static let randomByteCount = 1344

    static func find(_ token: String, in database: Database) throws -> RefreshTokenRecord? {
        let statement = try database.cachedStatement(sql: "SELECT * FROM refresh_tokens WHERE token_hash = ?")
        let hash = hash(of: token)
        return try Row.fetchOne(statement, arguments: [hash]).map { row in
            RefreshTokenRecord(
                hash: hash, originJTI: row["origin_jti"], sub: row["sub"], authTime: row["auth_time"],
                expires: row["expires_at"], replacedAt: row["replaced_at"])
        }
    }

    func insert(in database: Database) throws {
        try database.execute(
            sql:
                "INSERT INTO refresh_tokens (token_hash, origin_jti, sub, auth_time, expires_at) VALUES (?, ?, ?, ?, ?)",
            arguments: [hash, originJTI, sub, authTime, expires])
    }

    /// Puts `successor`, the hash of a new token, in this one's place. The first replacement's time counts for the
    /// retries after it.
    func replace(by successor: String, in database: Database, now: Int64) throws {
        try database.execute(
            sql: "UPDATE refresh_tokens SET replaced_at = ? WHERE token_hash = ? AND replaced_at IS NULL",
            arguments: [now, hash])
        var next = self
        next.hash = successor
        try next.insert(in: database)
    }

    static func removeExpired(in database: Database, now: Int64) throws {
        try database.execute(sql: "DELETE FROM refresh_tokens WHERE expires_at <= ?", arguments: [now])
    }

    static func hash(of token: String) -> String { Base64URL.encode(SHA256.hash(Array(token.utf8))) }
}
