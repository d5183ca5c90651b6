internal import FoundationEssentials
package import GRDB

extension Store {
    /// Copies the database as it is at one moment, while others read and write it (SQLite's backup interface, in one
    /// step: a snapshot, which no write waits for).
    ///
    /// - Parameters:
    ///   - path: where no file is yet.
    ///   - finishing: may add to the copy.
    package func copy(to path: String, finishing: (Database) throws -> Void = { _ in }) throws {
        try Self.makeFile(at: path)
        let copy = try DatabaseQueue(path: path)
        try backup(to: copy)
        // One file that stands for itself.
        try copy.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
            try database.inTransaction(.exclusive) {
                try finishing(database)
                return .commit
            }
        }
        try copy.close()
    }
}
