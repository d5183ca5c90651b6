internal import FoundationEssentials
package import GRDB

extension Store {
    /// Takes over the rows of a database of another file, all or none; rows with the key of one that is there stay out.
    /// When this returns they outlast a loss of power.
    ///
    /// - Parameter tables: which, and which of their columns.
    package func takeOver(_ tables: [(name: String, columns: String)], from path: String) async throws {
        try await writeWithoutTransaction { database in
            try database.execute(sql: "ATTACH DATABASE ? AS earlier", arguments: [path])
            defer { try? database.execute(sql: "DETACH DATABASE earlier") }
            try Self.transaction(database) { database in
                for (name, columns) in tables {
                    try database.execute(
                        sql: "INSERT OR IGNORE INTO main.\(name) (\(columns)) SELECT \(columns) FROM earlier.\(name)")
                }
            }
        }
        try await reachDisk()
    }

    /// Copies the database as it is at one moment, while others read and write it (SQLite's backup interface, in one
    /// step: a snapshot, which no write waits for).
    ///
    /// When this returns, the copy's contents outlast a loss of power; its name does once its directory is synced.
    ///
    /// - Parameters:
    ///   - path: where no file is yet; one that somebody else has put there is not written to.
    ///   - finishing: may add to the copy.
    package func copy(to path: String, finishing: (Database) throws -> Void = { _ in }) throws {
        try Self.makeFile(at: path, exclusively: true)
        let copy = try DatabaseQueue(path: path)
        try backup(to: copy)
        // One file that stands for itself.
        try copy.writeWithoutTransaction { database in
            try database.execute(
                sql: "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
            try database.inTransaction(.exclusive) {
                try finishing(database)
                return .commit
            }
        }
        try copy.close()
        try LogSync.sync(fileAt: path)
    }
}
