internal import GRDB
internal import Locking

/// The log of writes (SQLite, Write-Ahead Logging): its way to the disk, and into the database.
extension Store {
    /// Returns when all that was committed outlasts a loss of power. A commit alone does not in WAL mode, as GRDB sets
    /// it up (SQLite, PRAGMA synchronous: `NORMAL`). A log that the disk has not taken once is first taken into the
    /// database, since all that follows in it counts only together with what may be missing (SQLite, File Format, 4.4).
    func reachDisk() async throws {
        guard let log else { return }
        while true {
            let failures = log.failures
            if failures > failuresBeforeLog.withLock({ $0 }) {
                try await takeLogBetweenReaders()
                failuresBeforeLog.withLock { $0 = max($0, failures) }
            }
            try await log.wait()
            // Where the turn before failed meanwhile, the one that was waited for says nothing of what is lost.
            if log.failures == failures { return }
        }
    }

    /// Readers of a moment are waited for, off the queue of writes. One that reads for long, such as a backup, is not.
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

    /// Takes the log of writes into the database itself, so that nothing of what was deleted is left beside it. Where
    /// that can't be done now, as while someone reads what is older or the disk is full, the next call does it.
    func emptyLog() async throws {
        do {
            try await takeLog()
        } catch let error as DatabaseError {
            // SQLite has the log reach the disk first, and is the one that is told that it did not.
            if error.resultCode == .SQLITE_IOERR { log?.noteFailure() }
        }
    }

    /// - Throws: `SQLITE_BUSY` where someone reads what is older.
    private func takeLog() async throws {
        // In a task of its own: one that is cancelled would leave the connection without patience.
        try await Task {
            try await underWay { database in
                // Nobody waits for a reader: no write could run meanwhile.
                let patience = try Int.fetchOne(database, sql: "PRAGMA busy_timeout") ?? 0
                try database.execute(sql: "PRAGMA busy_timeout = 0")
                let result = Result { try database.checkpoint(.truncate) }
                try database.execute(sql: "PRAGMA busy_timeout = \(patience)")
                _ = try result.get()
            }
        }.value
    }
}
