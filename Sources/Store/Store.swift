internal import FoundationEssentials
package import GRDB

/// One SQLite database: opened, brought to the current schema, and shared by any number of tasks.
///
/// A file is kept in WAL mode, so that readers never wait for the writer; `:memory:` is for tests. Reads and writes run
/// on GRDB's own queues, never on the caller's thread.
package final class Store: Sendable {
    /// One step of the schema. Steps run once each, in order; a published step is never changed.
    package struct Migration: Sendable {
        package let name: String
        package let sql: String

        package init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// What a write that has returned outlasts.
    package enum Durability: Sendable {
        /// The end of the process.
        case process
        /// The loss of power as well: the system has written it to the disk.
        case powerLoss
    }

    private let database: any DatabaseWriter

    /// Opens the database at `path`, making it and its directory where they are missing, readable to their owner only:
    /// what is stored includes keys and password hashes.
    ///
    /// - Throws: the file system's or SQLite's error.
    package init(path: String, migrations: [Migration], outlasts durability: Durability = .process) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(5)
        if path == ":memory:" {
            database = try DatabaseQueue(configuration: configuration)
        } else {
            try Self.makeFile(at: path)
            database = try DatabasePool(path: path, configuration: configuration)
            if durability == .powerLoss {
                // In WAL mode only this waits for the disk at each commit (SQLite, PRAGMA synchronous).
                try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            }
        }
        try migrate(migrations)
    }

    /// Opens a database that is there, to read it beside whoever writes it. Writing fails, and nothing is brought to the
    /// current schema.
    package init(reading path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        database = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// What `body` reads, in one consistent snapshot.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await StoreObserver.observing("read") { [database] in try await database.read(body) }
    }

    /// Runs `body` as one transaction; writers run one after another. An error thrown by `body` undoes it.
    package func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await StoreObserver.observing("write") { [database] in try await database.write(body) }
    }

    /// As ``write(_:)-async`` for the time before there are tasks. Blocks the calling thread.
    package func writeBlocking<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.write(body)
    }

    /// Another number each time when any other process has changed the database. Numbers of two stores mean nothing to
    /// each other.
    package func foreignChanges() async throws -> Int64 {
        // On the one connection that writes, whose own commits do not change it (SQLite, PRAGMA data_version).
        try await database.writeWithoutTransaction { database in
            try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0
        }
    }

    private func migrate(_ migrations: [Migration]) throws {
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.name) { database in
                try database.execute(sql: migration.sql)
            }
        }
        try migrator.migrate(database)
    }

    /// SQLite gives the files beside the database (`-wal`, `-shm`) the database's own permissions.
    private static func makeFile(at path: String) throws {
        let files = FileManager.default
        guard !files.fileExists(atPath: path) else { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try files.createDirectory(
                atPath: String(path[..<slash]), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        guard files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "can't make \(path)")
        }
    }
}
