internal import GRDB
internal import Locking

/// The write-ahead log (SQLite, Write-Ahead Logging): syncing and checkpoints.
extension Store {
    /// Returns when all committed data survives a power loss. In WAL mode, as GRDB configures it, a commit alone does
    /// not (SQLite, PRAGMA synchronous: `NORMAL`). After a failed sync the log is first checkpointed into the database,
    /// since everything after a lost part of the log is invalid too (SQLite, File Format, 4.4).
    func reachDisk() async throws {
        guard let log else { return }
        while true {
            let failures = log.failures
            if failures > failuresBeforeLog.withLock({ $0 }) {
                try await takeLogBetweenReaders()
                failuresBeforeLog.withLock { $0 = max($0, failures) }
            }
            try await log.wait()
            // If an earlier sync failed meanwhile, success of this one does not prove that the lost data was written.
            if log.failures == failures { return }
        }
    }

    /// Waits for short readers, off the write queue. A long reader, such as a backup, is not waited for.
    private func takeLogBetweenReaders() async throws {
        for _ in 1..<20 {
            do {
                return try await takeLog()
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                try await Task.sleep(for: .milliseconds(25))
            }
        }
        try await takeLog()
    }

    /// Checkpoints the write-ahead log into the database, so that no deleted data remains in the log. If that is
    /// impossible now, as while a reader uses an older snapshot or the disk is full, the next call does it.
    func emptyLog() async throws {
        do {
            try await takeLog()
        } catch let error as DatabaseError {
            // SQLite syncs the log first, so it is SQLite that receives the error.
            if error.resultCode == .SQLITE_IOERR { log?.noteFailure() }
        }
    }

    /// - Throws: `SQLITE_BUSY` if a reader uses an older snapshot.
    private func takeLog() async throws {
        // A separate task: a cancelled one would leave the connection with a busy timeout of 0.
        try await Task {
            try await underWay { database in
                // The checkpoint does not wait for readers: no write could run meanwhile.
                let patience = try Int.fetchOne(database, sql: "PRAGMA busy_timeout") ?? 0
                try database.execute(sql: "PRAGMA busy_timeout = 0")
                let result = Result { try database.checkpoint(.truncate) }
                try database.execute(sql: "PRAGMA busy_timeout = \(patience)")
                _ = try result.get()
            }
        }.value
    }
}
