internal import FoundationEssentials
internal import GRDB

extension Store {
    /// Copies the database as it is at one moment, while others read and write it (SQLite's backup interface, in one
    /// step: a snapshot, which no write waits for).
    ///
    /// When this returns, the copy's contents outlast a loss of power; its name does once its directory is synced.
    ///
    /// - Parameters:
    ///   - path: where no file is yet; one that somebody else has put there is not written to.
    ///   - files: the files that the copy carries along, asked for when all rows have been copied; nil for none, also
    ///     if this database is a copy that has some.
    package func copy(to path: String, carrying files: () throws -> [(name: String, contents: [UInt8])]?) throws {
        try Self.copy(database, to: path, carrying: files)
    }

    /// As above, before there is a store.
    static func copy(
        _ database: any DatabaseWriter, to path: String,
        carrying files: () throws -> [(name: String, contents: [UInt8])]?
    ) throws {
        try makeFile(at: path, exclusively: true)
        let copy = try DatabaseQueue(path: path)
        try database.backup(to: copy)
        // One file that stands for itself.
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

    /// A copy's table of files, which no running database has.
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

    /// The files that a copy carries along; none in any other database.
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
