internal import GRDB

/// Tests whether a database can be written, on a connection of its own, so that no write waits behind a trial that
/// waits for a lock.
final class WriteTrial: Sendable {
    /// In seconds; the gateway's own writes take far less.
    private static let patience = 1.0

    let condition = WriteCondition()
    private let path: String
    /// The identity of the database file when it was opened.
    private let identity: FileIdentity?
    private let database: DatabaseQueue

    init(path: String) throws {
        (self.path, identity) = (path, FileIdentity(path))
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.patience)
        database = try DatabaseQueue(path: path, configuration: configuration)
    }

    func close() throws { try database.close() }

    /// Normally takes and releases only the write lock, which leaves no change that other processes would have to
    /// follow. After a failure it writes.
    ///
    /// - Parameter reachDisk: returns when the write has been synced.
    func run(_ reachDisk: @Sendable () async throws -> Void) async {
        let writes = condition.trialBegins(now: .now)
        do {
            // SQLite continues to use a file that was removed or replaced.
            guard FileIdentity(path) == identity else { throw StoreError.fileIsGone }
            try await database.writeWithoutTransaction { database in
                try database.inTransaction(.immediate) {
                    guard writes else { return .rollback }
                    // The one number of a database that nobody else uses (SQLite, PRAGMA user_version).
                    let last = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                    try database.execute(sql: "PRAGMA user_version = \((last &+ 1) & 0xFFFF)")
                    return .commit
                }
            }
            if writes { try await reachDisk() }
            condition.trialSucceeded(hasWritten: writes)
        } catch {
            condition.trialFailed(error)
        }
    }
}
