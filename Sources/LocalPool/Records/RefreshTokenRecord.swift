internal import Cryptography
internal import Encoding
internal import GRDB

/// A refresh token as stored, identified by its hash only.
struct RefreshTokenRecord: Sendable {
    /// SHA-256 of the token, base64url.
    var hash: String
    /// The id that all tokens from one sign-in share; they are revoked together.
    var originJTI: String
    var sub: String
    /// Empty for tokens from before there were several clients.
    var clientID: String
    /// The device the user signed in with, for pools that track devices.
    var deviceKey: String?
    /// The time of the user's sign-in; refreshes don't change it.
    var authTime: Int64
    var expires: Int64
    /// The time at which a rotation replaced the token.
    var replacedAt: Int64?
    var revokedAt: Int64?
    /// The scope of its access tokens; nil: the scope of a sign-in by the API.
    var scope: String?

    /// The number of random bytes whose base64url is as long as Cognito's tokens, about 1.8 kB.
    static let randomByteCount = 1344

    static func find(_ token: String, in database: Database) throws -> RefreshTokenRecord? {
        let statement = try database.cachedStatement(sql: "SELECT * FROM refresh_tokens WHERE token_hash = ?")
        return try Row.fetchOne(statement, arguments: [hash(of: token)]).map(RefreshTokenRecord.init)
    }

    func insert(in database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO refresh_tokens (
                    token_hash, origin_jti, sub, client_id, device_key, auth_time, expires_at, scope)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [hash, originJTI, sub, clientID, deviceKey, authTime, expires, scope])
    }

    /// Replaces this token with `successor`, the hash of a new one. The grace period for retries begins with the first
    /// replacement.
    func replace(by successor: String, in database: Database, now: Int64) throws {
        try database.execute(
            sql: "UPDATE refresh_tokens SET replaced_at = ? WHERE token_hash = ? AND replaced_at IS NULL",
            arguments: [now, hash])
        var next = self
        next.hash = successor
        try next.insert(in: database)
    }

    /// Revokes all tokens of this token's sign-in.
    func revokeFamily(in database: Database, now: Int64) throws {
        try database.execute(
            sql: "UPDATE refresh_tokens SET revoked_at = ? WHERE origin_jti = ? AND revoked_at IS NULL",
            arguments: [now, originJTI])
    }

    /// Revokes all tokens of the user, or with `deviceKey` those of one device.
    static func revokeAll(of sub: String, deviceKey: String? = nil, in database: Database, now: Int64) throws {
        try database.execute(
            sql: """
                UPDATE refresh_tokens SET revoked_at = ?1
                WHERE sub = ?2 AND revoked_at IS NULL AND (?3 IS NULL OR device_key = ?3)
                """,
            arguments: [now, sub, deviceKey])
    }

    /// Whether the tokens of this sign-in have been revoked.
    static func isRevoked(originJTI: String, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: "SELECT 1 FROM refresh_tokens WHERE origin_jti = ? AND revoked_at IS NOT NULL LIMIT 1")
        return try Int.fetchOne(statement, arguments: [originJTI]) != nil
    }

    static func removeExpired(in database: Database, now: Int64) throws {
        try database.execute(sql: "DELETE FROM refresh_tokens WHERE expires_at <= ?", arguments: [now])
    }

    static func hash(of token: String) -> String { Base64URL.encode(SHA256.hash(Array(token.utf8))) }
}

extension RefreshTokenRecord {
    fileprivate init(_ row: Row) {
        self.init(
            hash: row["token_hash"], originJTI: row["origin_jti"], sub: row["sub"], clientID: row["client_id"],
            deviceKey: row["device_key"], authTime: row["auth_time"], expires: row["expires_at"],
            replacedAt: row["replaced_at"], revokedAt: row["revoked_at"], scope: row["scope"])
    }
}
