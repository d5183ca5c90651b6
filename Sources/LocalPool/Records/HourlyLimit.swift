internal import GRDB

/// Cognito's limits per user and hour. They count all requests, including those for unknown users.
struct HourlyLimit: Sendable {
    let kind: String
    let allowed: Int64

    static let sendCode = HourlyLimit(kind: "send code", allowed: 5)
    static let confirmSignUp = HourlyLimit(kind: "confirm sign-up", allowed: 15)
    static let confirmReset = HourlyLimit(kind: "confirm reset", allowed: 15)
    static let verifyAttribute = HourlyLimit(kind: "verify attribute", allowed: 15)
    static let changePassword = HourlyLimit(kind: "change password", allowed: 5)

    /// Counts a request of `who`; returns whether it is within the limit.
    func allows(_ who: String, in database: Database, now: Int64) throws -> Bool {
        let count = try Int64.fetchOne(
            database,
            sql: """
                INSERT INTO attempts (who, kind, started_at, count) VALUES (?1, ?2, ?3, 1)
                ON CONFLICT (who, kind) DO UPDATE SET
                    count = CASE WHEN started_at + 3600 <= ?3 THEN 1 ELSE count + 1 END,
                    started_at = CASE WHEN started_at + 3600 <= ?3 THEN ?3 ELSE started_at END
                RETURNING count
                """,
            arguments: [who, kind, now])
        return count ?? 1 <= allowed
    }

    static func removeExpired(in database: Database, now: Int64) throws {
        try database.execute(sql: "DELETE FROM attempts WHERE started_at + 3600 <= ?", arguments: [now])
    }
}
