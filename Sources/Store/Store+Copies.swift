internal import FoundationEssentials
internal import GRDB

extension Store {
    /// Copies a snapshot of the database while others read and write it (SQLite's backup interface, in one step, which
    /// blocks no write).
    ///
    /// When this returns, the copy's contents survive a power loss; its name does once its directory is synced.
    ///
    /// - Parameters:
    ///   - path: must not exist; a file that somebody else has created there is not written to.
    ///   - files: the files to include in the copy, requested after all rows have been copied; nil for none, also if
    ///     this database is itself a copy with files.
    package func copy(to path: String, carrying files: () throws -> [(name: String, contents: [UInt8])]?) throws {
        try Self.copy(database, to: path, carrying: files)
    }

    /// As above, for use before there is a ``Store``.
    static func copy(
        _ database: any DatabaseWriter, to path: String,
        carrying files: () throws -> [(name: String, contents: [UInt8])]?
    ) throws {
        try makeFile(at: path, exclusively: true)
        let copy = try DatabaseQueue(path: path)
        try database.backup(to: copy)
        // Makes the copy a single self-contained file.
        try copy.writeWithoutTransaction { database in
            try database.execute(
                sql: "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
            try database.inTransaction(.exclusive) {
                try carry(try files(), in: database)
                return .commit
            }
        }
        try copy.close()
        try LogSync.sync(fileAt: path)
    }

    /// The table of files in a copy. No running database has it.
    static let fileTable = "backed_up_keys"

    private static func carry(_ files: [(name: String, contents: [UInt8])]?, in database: Database) throws {
        try database.execute(sql: "DROP TABLE IF EXISTS \(fileTable)")
        guard let files else { return }
        try database.execute(
            sql: "CREATE TABLE \(fileTable) (name TEXT NOT NULL PRIMARY KEY, contents BLOB NOT NULL) STRICT")
        for (name, contents) in files {
            try database.execute(
                sql: "INSERT INTO \(fileTable) VALUES (?, ?)", arguments: [name, Data(contents)])
        }
    }

    /// The files in a copy; empty for any other database.
    func carriedFiles() async throws -> [(name: String, contents: [UInt8])] {
        try await read { database in
            guard try database.tableExists(Self.fileTable) else { return [] }
            return try Row.fetchAll(database, sql: "SELECT name, contents FROM \(Self.fileTable)").map { row in
                let contents: Data = row["contents"]
                return (row["name"], [UInt8](contents))
            }
        }
    }
}
