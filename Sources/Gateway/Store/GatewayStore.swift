internal import FoundationEssentials
internal import Pipeline
internal import Store

/// The gateway's database in the state directory: one file, in which one connection writes.
///
/// Revocations wait for the disk, and frequent writes do not: that is a matter of each write, not of the file
/// (``Store/Durability``), and no write waits for another one's disk. So a backup is of one moment, and nothing has to
/// agree across files after a crash.
enum GatewayStore {
    static let migrations =
        StoredRevocations.migrations + StoredSessions.migrations + StoredLimits.migrations + StoredOutbox.migrations
        + StoredUsers.migrations + LostAnswers.migrations + PruningClock.migrations

    static let name = "gatehouse.sqlite"

    static func path(in stateDirectory: String) -> String { "\(stateDirectory)/\(name)" }

    /// Opens it beside other processes that may have it open.
    ///
    /// - Parameter now: seconds since 1970, as below.
    /// - Throws: ``WiringFault``, also for a state directory, or a file in it, that others may change, and for what a
    ///   restore has left that was interrupted.
    static func open(in stateDirectory: String, now: Int64 = WallClock.seconds()) throws(WiringFault) -> Store {
        let path = path(in: stateDirectory)
        do {
            let lock = try StateDirectoryLock(stateDirectory, .inUse)
            try check(stateDirectory)
            let store = try Store(path: path, migrations: migrations, keeping: lock)
            try store.followPruningClock(now: now)
            return store
        } catch let fault as WiringFault {
            throw fault
        } catch {
            throw WiringFault(description: "\(path): cannot be opened: \(StoreError.words(error))")
        }
    }

    /// Opens it to serve.
    ///
    /// - Throws: ``WiringFault``
    static func openToServe(
        in stateDirectory: String, now: Int64 = WallClock.seconds()
    ) async throws(WiringFault) -> Store {
        let store = try open(in: stateDirectory, now: now)
        do {
            try await LostAnswers.begin(store, now: now)
        } catch {
            let reason = StoreError.words(error)
            throw WiringFault(description: "\(path(in: stateDirectory)): cannot be written to: \(reason)")
        }
        return store
    }

    /// - Throws: ``WiringFault`` for a state directory, or a file in it, that others may change, and for what a restore
    ///   has left that was interrupted.
    private static func check(_ stateDirectory: String) throws(WiringFault) {
        do {
            try StateDirectory(path: stateDirectory).check()
            try RestoredFiles(stateDirectory).requireNoneUnfinished()
        } catch {
            throw WiringFault(ofStateDirectory: error)
        }
    }

    /// The revocations, read without changing anything; none if no gateway has stored anything yet.
    ///
    /// - Throws: ``WiringFault``
    static func revocations(in stateDirectory: String, now: Int64) async throws(WiringFault) -> RevocationList {
        try check(stateDirectory)
        let path = path(in: stateDirectory)
        guard FileManager.default.fileExists(atPath: path) else { return .empty }
        do {
            let records = try await StoredRevocations(try Store(reading: path)).all(now: now)
            return RevocationList.empty.adding(records.compactMap(Revocation.init))
        } catch {
            throw WiringFault(description: "\(path): revocations cannot be read: \(StoreError.words(error))")
        }
    }
}
