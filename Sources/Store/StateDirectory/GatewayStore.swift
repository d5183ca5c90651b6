internal import Clocks
internal import FoundationEssentials
internal import Pipeline

/// The gateway's database in the state directory: one file with one writing connection.
///
/// Revocations wait for the disk and frequent writes do not: durability is a property of each write, not of the file
/// (``Store/Durability``), and no write waits for another one's sync. One file makes a backup a single snapshot, and
/// nothing has to be consistent across files after a crash.
package enum GatewayStore {
    static let migrations =
        StoredRevocations.migrations + StoredSessions.migrations + StoredLimits.migrations + StoredOutbox.migrations
        + StoredUsers.migrations + RetryWindows.migrations + PruningClock.migrations
        + StoredAuthorizationCodes.migrations + StoredPasswordChanges.migrations

    static let name = "gatehouse.sqlite"

    package static func path(in stateDirectory: String) -> String { "\(stateDirectory)/\(name)" }

    /// Opens the database while other processes may have it open.
    ///
    /// - Parameter now: seconds since 1970, as below.
    /// - Throws: ``StartupError``, also if others may change the state directory or a file in it, or if a restore was
    ///   interrupted.
    package static func open(in stateDirectory: String, now: Int64 = WallClock.seconds()) throws(StartupError) -> Store
    {
        let path = path(in: stateDirectory)
        do {
            let lock = try StateDirectoryLock(stateDirectory, .inUse)
            try checkDirectory(stateDirectory)
            let store = try Store(path: path, migrations: migrations, keeping: lock)
            try store.followPruningClock(now: now)
            return store
        } catch let error as StartupError {
            throw error
        } catch {
            throw StartupError(description: "\(path): cannot be opened: \(StoreError.words(error))")
        }
    }

    /// Opens the database exclusively.
    ///
    /// - Throws: ``StartupError``, as ``open(in:now:)``
    package static func openAlone(in stateDirectory: String) throws(StartupError) -> Store {
        let path = path(in: stateDirectory)
        let lock = try StateDirectoryLock(stateDirectory, .alone)
        do {
            try checkDirectory(stateDirectory)
            return try Store(path: path, migrations: migrations, keeping: lock)
        } catch let error as StartupError {
            throw error
        } catch {
            throw StartupError(description: "\(path): cannot be opened: \(StoreError.words(error))")
        }
    }

    /// Opens a database that no gateway uses, or creates an empty one, and migrates it to the current schema.
    package static func make(at path: String) throws -> Store { try Store(path: path, migrations: migrations) }

    /// Opens the database for serving.
    ///
    /// - Throws: ``StartupError``
    package static func openToServe(
        in stateDirectory: String, now: Int64 = WallClock.seconds()
    ) async throws(StartupError) -> Store {
        let store = try open(in: stateDirectory, now: now)
        do {
            try await RetryWindows.begin(store, now: now)
        } catch {
            let reason = StoreError.words(error)
            throw StartupError(description: "\(path(in: stateDirectory)): cannot be written to: \(reason)")
        }
        return store
    }

    /// - Throws: ``StartupError`` if others may change the state directory or a file in it, or if a restore was
    ///   interrupted.
    package static func checkDirectory(_ stateDirectory: String) throws(StartupError) {
        do {
            try StateDirectory(path: stateDirectory).check()
            try RestoredFiles(stateDirectory).requireNoneUnfinished()
        } catch {
            throw StartupError(ofStateDirectory: error)
        }
    }
}
