internal import GRDB

/// Responses that were stored for clients to which a killed process may not have sent them.
///
/// A client that did not receive the response to a refresh can request it again for ``window`` seconds. It is unknown
/// which responses a killed process had sent, and nobody could request them while it was down. The next start therefore
/// reopens the windows that were open then, for the same duration. A process that shut down cleanly has sent all its
/// responses; its windows are not reopened.
package enum RetryWindows {
    package static let migrations = [
        Store.Migration(name: "clean-ends-1", sql: "CREATE TABLE clean_ends (at INTEGER NOT NULL) STRICT")
    ]

    /// The number of seconds after a refresh for which the same refresh may be repeated.
    package static let window: Int64 = 60

    /// Whether the response to a refresh may be requested again. A time further ahead than the window was written by a
    /// clock that has been set back since; it opens no window.
    ///
    /// - Parameters:
    ///   - refreshedAt: when the response was first given, in seconds since 1970, as all times here.
    ///   - retryUntil: when the window that a restart reopened ends.
    package static func isOpen(refreshedAt: Int64, retryUntil: Int64, now: Int64) -> Bool {
        (now - window...now + window).contains(refreshedAt) || (now...now + window).contains(retryUntil)
    }

    /// SQL for rows whose ``isOpen(refreshedAt:retryUntil:now:)`` is false, and stays false after a temporarily wrong
    /// clock has been corrected.
    static let closedCondition =
        "(refreshed_at < ? OR refreshed_at > ?) AND (retry_until < ? OR retry_until > ?)"

    static func closedArguments(_ store: Store, now: Int64) -> StatementArguments {
        let (earliest, latest) = (store.pruningTime(now), store.latestTime(now))
        return [earliest - window, latest + window, earliest, latest + window]
    }

    /// Starts the service of a process, and deletes the record of how the previous process ended.
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

    /// Records that a process has ended its service and has answered all requests that it could.
    package static func recordCleanShutdown(_ store: Store, now: Int64) async throws {
        try await store.write { try $0.execute(sql: "INSERT INTO clean_ends (at) VALUES (?)", arguments: [now]) }
    }

    /// The end of the process is unknown; the last refresh shows when it still ran. A refresh time in the future is
    /// ignored: it is from another clock.
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
