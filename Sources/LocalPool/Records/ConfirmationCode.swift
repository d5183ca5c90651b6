internal import Cryptography
internal import GRDB
internal import Pipeline

/// The codes a pool sends to prove an e-mail address.
enum ConfirmationCode {
    static let signUp = "sign-up"
    /// Wrong codes before a code is worth nothing (Cognito allows 15 tries an hour).
    static let allowedAttempts: Int64 = 15

    /// Six digits out of eight random bytes; the bias of the remainder is below 2^-44.
    static func make(from random: [UInt8]) -> String {
        let number = random.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Stores the code in place of an earlier one and puts it into the user's inbox.
    static func deliver(
        _ code: String, to user: UserRecord, in database: Database, now: Int64, lifetime: Int64
    ) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO codes (sub, purpose, code, expires_at) VALUES (?, ?, ?, ?)",
            arguments: [user.sub, signUp, code, now + lifetime])
        try database.execute(
            sql: "INSERT INTO messages (email, purpose, code, sent_at) VALUES (?, ?, ?, ?)",
            arguments: [user.email, signUp, code, now])
    }

    /// Checks and, if it is right, uses up the code. Returns the refusal instead of throwing it, because throwing would
    /// also undo the count of attempts.
    static func redeem(_ code: String, of sub: String, in database: Database, now: Int64) throws -> PoolError? {
        let row = try Row.fetchOne(
            database,
            sql: """
                UPDATE codes SET attempts = attempts + 1 WHERE sub = ? AND purpose = ?
                RETURNING code, expires_at, attempts
                """,
            arguments: [sub, signUp])
        guard let row else { return .expiredCode }
        let (expected, expires, attempts): (String, Int64, Int64) = (row["code"], row["expires_at"], row["attempts"])
        guard expires > now else { return .expiredCode }
        guard attempts <= allowedAttempts else { return .limitExceeded }
        guard constantTimeEquals(Array(code.utf8), Array(expected.utf8)) else { return .codeMismatch }
        try database.execute(sql: "DELETE FROM codes WHERE sub = ? AND purpose = ?", arguments: [sub, signUp])
        try database.execute(sql: "UPDATE users SET is_confirmed = 1 WHERE sub = ?", arguments: [sub])
        return nil
    }

    /// What was sent to `email`, newest last.
    static func inbox(of email: String, in database: Database) throws -> JSON {
        let rows = try Row.fetchAll(
            database, sql: "SELECT email, purpose, code, sent_at FROM messages WHERE email = ? ORDER BY id",
            arguments: [email])
        return .array(
            rows.map { row in
                [
                    "email": .string(row["email"]), "purpose": .string(row["purpose"]), "code": .string(row["code"]),
                    "sent_at": .number(JSONNumber(row["sent_at"] as Int64)),
                ]
            })
    }
}
