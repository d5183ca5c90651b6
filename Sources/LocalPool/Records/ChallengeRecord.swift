internal import Cryptography
internal import Encoding
internal import GRDB

/// A sign-in step that waits for its answer. Its key is the hash of the token that the client received: the `Session`,
/// or for SRP the `SECRET_BLOCK`.
struct ChallengeRecord: Sendable {
    /// The number of wrong codes that invalidates the session.
    static let allowedAttempts: Int64 = 5

    var id: String
    /// Nil for an unknown user whose existence is simulated.
    var sub: String?
    var clientID: String
    var name: String
    /// The state for the next step.
    var data: JSONObject
    var attempts: Int64 = 0
    var expires: Int64

    static func id(of token: String) -> String { Base64URL.encode(SHA256.hash(Array(token.utf8))) }

    func insert(in database: Database) throws {
        try database.execute(
            sql: "INSERT INTO challenges (id, sub, client_id, name, data, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [id, sub, clientID, name, JSON.object(data).text, expires])
    }

    /// Takes the challenge of `token`, which nobody can take again unless it is given back.
    ///
    /// - Throws: NotAuthorizedException if there is none, or it was used, or it has expired.
    static func take(_ token: String, in database: Database, now: Int64) throws -> ChallengeRecord {
        try take(id: id(of: token), in: database, now: now)
    }

    static func take(id: String, in database: Database, now: Int64) throws -> ChallengeRecord {
        guard let row = try Row.fetchOne(database, sql: "SELECT * FROM challenges WHERE id = ?", arguments: [id]) else {
            throw PoolError.invalidSession
        }
        guard row["used_at"] == nil else { throw PoolError.usedSession }
        let challenge = try ChallengeRecord(row)
        guard challenge.expires > now else { throw PoolError.expiredSession }
        try database.execute(sql: "UPDATE challenges SET used_at = ? WHERE id = ?", arguments: [now, id])
        return challenge
    }

    /// The valid challenge of `token`, which stays available; nil if there is none.
    static func find(_ token: String, in database: Database, now: Int64) throws -> ChallengeRecord? {
        try Row.fetchOne(
            database, sql: "SELECT * FROM challenges WHERE id = ? AND used_at IS NULL AND expires_at > ?",
            arguments: [id(of: token), now]
        ).map(ChallengeRecord.init)
    }

    static func remove(_ token: String, in database: Database) throws {
        try database.execute(sql: "DELETE FROM challenges WHERE id = ?", arguments: [id(of: token)])
    }

    /// The id of the user's open challenge with this name, for clients that return no session.
    static func open(_ name: String, of sub: String, in database: Database, now: Int64) throws -> String? {
        try String.fetchOne(
            database,
            sql: """
                SELECT id FROM challenges WHERE sub = ? AND name = ? AND used_at IS NULL AND expires_at > ?
                ORDER BY expires_at DESC LIMIT 1
                """,
            arguments: [sub, name, now])
    }

    /// Allows another attempt with the same session after a wrong code, up to ``allowedAttempts``.
    func giveBack(in database: Database) throws {
        guard attempts + 1 < Self.allowedAttempts else { return }
        try database.execute(
            sql: "UPDATE challenges SET used_at = NULL, attempts = attempts + 1 WHERE id = ?", arguments: [id])
    }

    static func removeExpired(in database: Database, now: Int64) throws {
        try database.execute(sql: "DELETE FROM challenges WHERE expires_at <= ?", arguments: [now - 3600])
    }
}

extension ChallengeRecord {
    fileprivate init(_ row: Row) throws {
        self.init(
            id: row["id"], sub: row["sub"], clientID: row["client_id"], name: row["name"],
            data: try JSON.parse(text: row["data"]).objectValue ?? [:], attempts: row["attempts"],
            expires: row["expires_at"])
    }
}
