internal import GRDB

/// Answers that were stored for clients to which a killed process may not have sent them.
///
/// Whoever did not get the answer to a refresh asks for the same once more, for ``window`` seconds. When a process is
/// killed, nobody can say what it still gave, and nobody can ask it: the windows that were open then open once more at
/// the next start, for as long. A process that ended in good order has answered all; nothing of its is opened again.
package enum LostAnswers {
    package static let migrations = [
        Store.Migration(name: "clean-ends-1", sql: "CREATE TABLE clean_ends (at INTEGER NOT NULL) STRICT")
    ]

    /// For how many seconds after a refresh the same one may be asked for once more.
    package static let window: Int64 = 60

    /// Whether the answer to a refresh may be asked for once more. A time that is further ahead than the window was
    /// written by a clock that has been set back since, and opens nothing.
    ///
    /// - Parameters:
    ///   - refreshedAt: when the answer was given first, in seconds since 1970, as all times here.
    ///   - retryUntil: until when a restart has opened the window once more.
    package static func isOpen(refreshedAt: Int64, retryUntil: Int64, now: Int64) -> Bool {
        (now - window...now + window).contains(refreshedAt) || (now...now + window).contains(retryUntil)
    }

    /// SQL for rows of which ``isOpen(refreshedAt:retryUntil:now:)`` is false, and will not be true when a clock that
    /// is wrong for a while is right again.
    static let closedCondition =
        "(refreshed_at < ? OR refreshed_at > ?) AND (retry_until < ? OR retry_until > ?)"

    static func closedArguments(_ store: Store, now: Int64) -> StatementArguments {
        let (earliest, latest) = (store.pruningTime(now), store.latestTime(now))
        return [earliest - window, latest + window, earliest, latest + window]
    }

    /// A process begins to serve. How the one before ended is forgotten by it.
    ///
    /// - Parameter now: seconds since 1970, as below.
    package static func begin(_ store: Store, now: Int64) async throws {
        try await store.write { database in
            try database.execute(sql: "DELETE FROM clean_ends")
            guard database.changesCount == 0 else { return }
            try reopen("sessions", keeping: "answer", now, in: database)
            try reopen("user_sessions", keeping: "successor", now, in: database)
        }
    }

    /// A process has ended its service, and has answered whom it could.
    package static func endInGoodOrder(_ store: Store, now: Int64) async throws {
        try await store.write { try $0.execute(sql: "INSERT INTO clean_ends (at) VALUES (?)", arguments: [now]) }
    }

    /// When the process ended is not known: it lived at the last refresh. One in the future is no measure: it was by
    /// another clock.
    private static func reopen(
        _ table: String, keeping column: String, _ now: Int64, in database: Database
    ) throws {
        try database.execute(
            sql: """
                UPDATE \(table) SET retry_until = ?1 + ?2
                WHERE \(column) IS NOT NULL AND max(refreshed_at + ?2, retry_until) >= coalesce((
                    SELECT max(refreshed_at) FROM \(table) WHERE \(column) IS NOT NULL AND refreshed_at <= ?1), 0)
                """,
            arguments: [now, window])
    }
}
