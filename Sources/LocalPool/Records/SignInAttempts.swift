internal import GRDB

/// Counts wrong passwords. From the fifth failure on, Cognito blocks sign-in for 2^(n−5) seconds after the n-th one, at
/// most 15 minutes.
enum SignInAttempts {
    static let allowed: Int64 = 5
    static let longestLock: Int64 = 900

    /// The time in seconds for which sign-in is blocked after `failures` wrong passwords in a row.
    static func lock(after failures: Int64) -> Int64 {
        failures < allowed ? 0 : min(longestLock, 1 << min(failures - allowed, 10))
    }

    static func recordFailure(of sub: String, in database: Database, now: Int64) throws {
        let failures = try Int64.fetchOne(
            database,
            sql: "UPDATE users SET failed_attempts = failed_attempts + 1 WHERE sub = ? RETURNING failed_attempts",
            arguments: [sub])
        try database.execute(
            sql: "UPDATE users SET locked_until = ? WHERE sub = ?", arguments: [now + lock(after: failures ?? 0), sub])
    }

    static func clear(_ sub: String, in database: Database) throws {
        try database.execute(
            sql: "UPDATE users SET failed_attempts = 0, locked_until = 0 WHERE sub = ?", arguments: [sub])
    }
}
