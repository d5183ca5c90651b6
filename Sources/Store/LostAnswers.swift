internal import GRDB

/// What was kept for a client that a process may have ended without answering.
///
/// Whoever did not get the answer to a refresh asks for the same once more, for ``window`` seconds. When a process is
/// killed, nobody can say what it still gave, and nobody can ask it: the windows that were open then open once more at the
/// next start, for as long. A process that ended in good order has answered all; nothing of its is opened again.
package enum LostAnswers {
    package static let migrations = [
        Store.Migration(name: "clean-ends-1", sql: "CREATE TABLE clean_ends (at INTEGER NOT NULL) STRICT")
    ]

    /// For how many seconds after a refresh the same one may be asked for once more.
    package static let window: Int64 = 60

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

    /// When the process ended is not known: it lived at the last refresh.
    private static func reopen(
        _ table: String, keeping column: String, _ now: Int64, in database: Database
    ) throws {
        try database.execute(
            sql: """
                UPDATE \(table) SET retry_until = ?1 + ?2
                WHERE \(column) IS NOT NULL AND max(refreshed_at + ?2, retry_until) >= (
                    SELECT max(refreshed_at) FROM \(table) WHERE \(column) IS NOT NULL)
                """,
            arguments: [now, window])
    }
}
