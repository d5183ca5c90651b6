internal import Cryptography
internal import GRDB

/// The codes that a pool sends to verify an address.
enum ConfirmationCode {
    /// The purpose of a code; a user has at most one code for each.
    enum Purpose: String, Sendable {
        case signUp = "sign-up"
        case passwordReset = "password-reset"
        case email = "email"
        case phoneNumber = "phone_number"
    }

    /// The number of wrong codes that invalidates a code (Cognito allows 15 attempts per hour).
    static let allowedAttempts: Int64 = 15

    /// Six digits out of eight random bytes; the bias of the remainder is below 2^-44.
    static func make(from random: [UInt8]) -> String {
        let number = random.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Stores the code; it replaces an earlier one for this purpose.
    ///
    /// - Parameter value: the address that the code verifies; nil: the user's current one.
    static func store(
        _ code: String, _ purpose: Purpose, of sub: String, value: String? = nil, in database: Database,
        expires: Int64
    ) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO codes (sub, purpose, code, expires_at, value) VALUES (?, ?, ?, ?, ?)",
            arguments: [sub, purpose.rawValue, code, expires, value])
    }

    /// The address that awaits verification; nil if there is none.
    static func pendingValue(_ purpose: Purpose, of sub: String, in database: Database) throws -> String? {
        try String.fetchOne(
            database, sql: "SELECT value FROM codes WHERE sub = ? AND purpose = ?", arguments: [sub, purpose.rawValue])
    }

    /// Checks the code and uses it up if it is correct. Returns the error instead of throwing it, because throwing
    /// would also roll back the count of attempts.
    static func redeem(
        _ code: String, _ purpose: Purpose, of sub: String, in database: Database, now: Int64
    ) throws -> PoolError? {
        let row = try Row.fetchOne(
            database,
            sql: """
                UPDATE codes SET attempts = attempts + 1 WHERE sub = ? AND purpose = ?
                RETURNING code, expires_at, attempts
                """,
            arguments: [sub, purpose.rawValue])
        guard let row else { return .expiredCode }
        let (expected, expires, attempts): (String, Int64, Int64) = (row["code"], row["expires_at"], row["attempts"])
        guard expires > now else { return .expiredCode }
        guard attempts <= allowedAttempts else { return .limitExceeded }
        guard constantTimeEquals(Array(code.utf8), Array(expected.utf8)) else { return .codeMismatch }
        try database.execute(
            sql: "DELETE FROM codes WHERE sub = ? AND purpose = ?", arguments: [sub, purpose.rawValue])
        return nil
    }
}
