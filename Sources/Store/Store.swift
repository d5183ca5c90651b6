package import GRDB
internal import Glibc
internal import Locking
internal import Telemetry

/// One SQLite database: opened, migrated to the current schema, and shared by any number of tasks.
///
/// A file is in WAL mode, so that readers never wait for the writer; `:memory:` is for tests. Reads and writes run on
/// GRDB's own queues, never on the caller's thread.
package final class Store: Sendable {
    /// One schema step. Steps run once each, in order; a published step is never changed.
    package struct Migration: Sendable {
        package let name: String
        package let sql: String

        package init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// The event that a completed write survives.
    package enum Durability: Sendable {
        /// The end of the process.
        case process
        /// A power loss as well: the write, and all writes before it, have been synced to the disk.
        case powerLoss
    }

    let database: any DatabaseWriter
    /// Marks the file as in use while this object exists.
    private let lock: (any Sendable)?
    private let longestQueueing: Duration
    private let writes = Locked(WritesInProgress(at: .now))
    /// Nil for an in-memory database.
    let log: LogSync?
    /// The number of log sync failures up to the last checkpoint that followed one.
    let failuresBeforeLog = Locked(0)
    /// Nil for an in-memory or read-only database.
    private let trial: WriteTrial?
    /// Nil: every time of day is trusted.
    let pruningClock = Locked<PruningClock?>(nil)
    /// The number of schema steps.
    package let schemaVersion: Int
    /// The path of the copy made before the schema changed; nil if it has not changed.
    package let copyOfOlderSchema: String?

    /// Opens the database at `path`. If they are missing, creates it and its directory, readable only by their owner:
    /// the data includes keys and password hashes.
    ///
    /// - Parameters:
    ///   - patience: for how many seconds a write waits for other processes' writes.
    ///   - queueing: how long a write waits for those of its own process before it is refused.
    ///   - response: how long the disk may take to respond.
    ///   - lock: retained while the database is open.
    ///   - sync: syncs a file to the disk.
    /// - Throws: errors of the file system and of SQLite, and ``StoreError``.
    package init(
        path: String, migrations: [Migration], patience: Double = 3, queueing: Duration = .seconds(3),
        response: Duration = .seconds(3), keeping lock: (any Sendable)? = nil,
        sync: @escaping @Sendable (_ path: String) throws -> Void = { try LogSync.sync(fileAt: $0) }
    ) throws {
        self.lock = lock
        longestQueueing = queueing
        var configuration = Configuration()
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(patience)
        // Deleted data is overwritten, even if that is not the default of this SQLite build.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        if path == ":memory:" {
            database = try DatabaseQueue(configuration: configuration)
            (log, trial) = (nil, nil)
        } else {
            try Self.makeFile(at: path)
            database = try DatabasePool(path: path, configuration: configuration)
            log = LogSync(longestResponse: response) { try sync("\(path)-wal") }
            trial = try WriteTrial(path: path)
        }
        schemaVersion = migrations.count
        let copies = path == ":memory:" ? nil : SchemaCopies(path: path)
        copyOfOlderSchema = try Self.migrate(database, Self.migrator(migrations), Set(migrations.map(\.name)), copies)
    }

    /// Opens an existing database for reading while others may write it. Writes fail, and the schema is not migrated.
    package init(reading path: String) throws {
        lock = nil
        (log, trial) = (nil, nil)
        schemaVersion = 0
        copyOfOlderSchema = nil
        longestQueueing = .seconds(3)
        database = try Self.readOnly(path)
    }

    static func readOnly(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Closes the database; later writes fail.
    package func close() throws {
        try trial?.close()
        try database.close()
    }

    /// The reason why the store cannot be written; nil if it can, according to the last writes and trials and those in
    /// progress.
    package var writeError: String? {
        if let error = trial?.condition.error(now: .now) { return error }
        return isStuck ? StoreError.noResponse.description : nil
    }

    /// Whether no write has completed for as long as a write waits for others.
    private var isStuck: Bool { writes.withLock { $0.areStuck(at: .now, for: longestQueueing) } }

    /// Tests whether the database can be written, for a limited time and outside the write queue. ``writeError`` has
    /// the result.
    package func tryWriting() async {
        await trial?.run { [self] in try await reachDisk() }
    }

    /// Creates a span for `body` if the task is traced. It includes the wait for other writes.
    private static func traced<Value: Sendable>(
        _ operation: String, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await SpanContext.withClientSpan(
            "store \(operation)",
            attributes: [
                (name: "db.system.name", value: .text("sqlite")),
                (name: "db.operation.name", value: .text(operation)),
            ], body)
    }

    /// Runs `body`, which reads from one consistent snapshot.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await Self.traced("read") { [database] in try await database.read(body) }
    }

    /// Runs `body` as one transaction. Writers run one after another, in the order of arrival. An error of `body` or of
    /// the disk rolls the transaction back.
    ///
    /// - Parameter durability: the event that the write survives once this has returned. Waiting for the disk blocks no
    ///   other write. If syncing to the disk fails, this throws, and the write survives the end of the process at most.
    /// - Throws: also ``StoreError/waitedTooLong`` if the preceding writes took too long. Behind a write that hangs,
    ///   new ones are refused at once, so that no backlog builds up; those already waiting are refused when it ends.
    ///   ``StoreError/noResponse`` if the disk has not responded in time.
    package func write<Value: Sendable>(
        outlasting durability: Durability = .process, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let came = ContinuousClock.now
        return try await Self.traced("write") { [longestQueueing, trial] in
            do {
                guard !isStuck else { throw StoreError.waitedTooLong }
                let value = try await underWay { database in
                    guard ContinuousClock.now - came < longestQueueing else { throw StoreError.waitedTooLong }
                    return try Self.transaction(database, body)
                }
                if durability == .powerLoss { try await reachDisk() }
                return value
            } catch {
                trial?.condition.writeFailed(error)
                throw error
            }
        }
    }

    /// Runs `body` on the writing connection and counts it in ``writes``.
    func underWay<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        writes.withLock { $0.begin(at: .now) }
        defer { writes.withLock { $0.end(at: .now) } }
        return try await database.writeWithoutTransaction(body)
    }

    /// As GRDB's `inTransaction`, which does not cache its statements.
    static func transaction<Value>(_ database: Database, _ body: (Database) throws -> Value) throws -> Value {
        try database.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
        do {
            let value = try body(database)
            try database.cachedStatement(sql: "COMMIT TRANSACTION").execute()
            return value
        } catch {
            // The first error has the cause. SQLite may already have rolled the transaction back.
            if database.isInsideTransaction { try? database.rollback() }
            throw error
        }
    }

    /// Runs `body`, which reads a few rows by key, on the writing connection unless writes are stuck. That connection
    /// has its statements and pages cached and needs one hop; a read-only connection costs several times as much CPU
    /// time. Other writes may run between two statements.
    func lookUp<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        guard !writes.withLock({ $0.areStuck(at: .now) }) else { return try await read(body) }
        return try await Self.traced("read") { [database] in try await database.writeWithoutTransaction(body) }
    }

    /// As ``write(outlasting:_:)``, for use before there are tasks. Blocks the calling thread.
    package func writeBlocking<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.write(body)
    }

    /// As ``read(_:)``, for use before there are tasks. Blocks the calling thread.
    func readBlocking<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.read(body)
    }

    /// A number that changes when another process, or another ``Store``, has changed the database. Numbers of two
    /// stores cannot be compared.
    package func foreignChanges() async throws -> Int64 {
        // Read on the one writing connection, whose own commits do not change it (SQLite, PRAGMA data_version).
        try await database.writeWithoutTransaction { database in
            try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0
        }
    }

    /// - Parameter copies: nil for an in-memory database.
    /// - Returns: the path of the copy made before the migration.
    private static func migrate(
        _ database: any DatabaseWriter, _ migrator: DatabaseMigrator, _ known: Set<String>, _ copies: SchemaCopies?
    ) throws -> String? {
        func knownSteps() throws -> Set<String> {
            let steps = try database.read { try migrator.appliedIdentifiers($0) }
            let unknown = steps.subtracting(known)
            guard unknown.isEmpty else {
                throw StoreError.newerSchema(unknown.sorted(), copy: copies?.newest(within: known))
            }
            return steps
        }
        guard try knownSteps() != known else {
            // A version whose steps are all present continues, even if a change to a newer schema was interrupted.
            if let copies, copies.hasBegunChange {
                try copies.alone { change in if try knownSteps() == known { try change.end() } }
            }
            return nil
        }
        guard let copies else {
            try migrator.migrate(database)
            return nil
        }
        return try copies.alone { change in
            // If several processes start at once, the first one migrates.
            let steps = try knownSteps()
            guard !steps.isEmpty, steps != known else {
                try migrator.migrate(database)
                return nil
            }
            var copy = copies.ofStopped(change, steps: steps.count, target: known.count)
            if copy == nil {
                copy = try copies.make(of: database, steps: steps.count)
                try change.begin(steps: steps.count, target: known.count)
            }
            do {
                try migrator.migrate(database)
            } catch {
                throw StoreError.notMigrated(copy, StoreError.words(error))
            }
            try change.end()
            return copy
        }
    }

    static func migrator(_ migrations: [Migration]) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.name) { database in
                try database.execute(sql: migration.sql)
            }
        }
        return migrator
    }

    /// Creates an empty file, and its directory, if they are missing, accessible only to their owner from the start,
    /// whatever the umask. SQLite gives the files beside the database (`-wal`, `-shm`) the database's permissions and,
    /// if root creates them, its owner.
    ///
    /// - Parameter exclusively: whether an existing file is an error.
    static func makeFile(at path: String, exclusively: Bool = false) throws {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        if let directory { try makeDirectory(directory) }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            // Created by another process meanwhile.
            if errno == EEXIST, !exclusively { return }
            throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "can't make \(path)")
        }
        StateDirectory(path: directory ?? ".").giveToOwner(descriptor)
        Glibc.close(descriptor)
    }

    private static func makeDirectory(_ path: String) throws {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try makeDirectory(String(path[..<slash]))
            if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        }
        throw DatabaseError(resultCode: .SQLITE_CANTOPEN, message: "can't make \(path)")
    }
}
