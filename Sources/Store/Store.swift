package import GRDB
internal import Glibc
internal import Locking
internal import Telemetry

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

    /// The event that a returned write outlasts.
    package enum Durability: Sendable {
        /// The end of the process.
        case process
        /// The loss of power as well: the system has written it to the disk, and what was written before it.
        case powerLoss
    }

    let database: any DatabaseWriter
    /// Marks the file as in use, as long as this is held.
    private let lock: (any Sendable)?
    private let longestQueueing: Duration
    private let writes = Locked(WritesUnderWay(at: .now))
    /// Nil for a database that is on no disk.
    let log: LogSync?
    /// How many failures of the log's way to the disk there were when it was last begun anew.
    let failuresBeforeLog = Locked(0)
    /// Nil for a database that is on no disk, or is only read.
    private let trial: WriteTrial?
    /// Nil: every time of day is believed.
    let pruningClock = Locked<PruningClock?>(nil)
    /// How many steps of the schema it has.
    package let schemaVersion: Int
    /// Where the database was copied to before its schema changed; nil where it has not changed.
    package let copyOfOlderSchema: String?

    /// Opens the database at `path`, making it and its directory where they are missing, readable to their owner only:
    /// what is stored includes keys and password hashes.
    ///
    /// - Parameters:
    ///   - patience: for how many seconds a write waits for other processes' writes.
    ///   - queueing: how long a write waits for those of its own process before it is refused.
    ///   - response: how long the disk may take to respond.
    ///   - lock: kept for as long as the database is open.
    ///   - sync: has a file reach the disk.
    /// - Throws: the file system's or SQLite's error, and ``StoreError``.
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
        // Deleted data is overwritten, also where SQLite was not built to do so.
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

    /// Opens a database that is there, to read it beside whoever writes it. Writing fails, and nothing is brought to
    /// the current schema.
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

    /// Closes the database; what is written to it later fails.
    package func close() throws {
        try trial?.close()
        try database.close()
    }

    /// Why nothing can be written now; nil where it can, as far as is known from the last writes and trials, and from
    /// those under way.
    package var writeError: String? {
        if let error = trial?.condition.error(now: .now) { return error }
        return isStuck ? StoreError.noResponse.description : nil
    }

    /// Whether no write has ended for as long as one waits for others.
    private var isStuck: Bool { writes.withLock { $0.areStuck(at: .now, for: longestQueueing) } }

    /// Tries whether the database can be written, for a bounded time, beside the queue of writes. The result is at
    /// ``writeError``.
    package func tryWriting() async {
        await trial?.run { [self] in try await reachDisk() }
    }

    /// Makes a span of `body` where the task is traced, the wait for other writes included.
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

    /// Runs `body` as one transaction; writers run one after another, in the order they came. An error thrown by `body`
    /// undoes it, as does one of the disk.
    ///
    /// - Parameter durability: what the write outlasts once this has returned. Waiting for the disk keeps no other
    ///   write from running. Where the disk fails, this throws, and the write outlasts the process at most.
    /// - Throws: also ``StoreError/waitedTooLong``, when those before it took that long. Behind one that hangs, those
    ///   that come later are refused at once, so that no work gathers; those that wait already are refused when it ends.
    ///   ``StoreError/noResponse`` when the disk has not responded for too long.
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

    /// Runs `body` on the connection that writes, and has others know of it.
    func underWay<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        writes.withLock { $0.begin(at: .now) }
        defer { writes.withLock { $0.end(at: .now) } }
        return try await database.writeWithoutTransaction(body)
    }

    /// As GRDB's `inTransaction`, which compiles its own statements anew each time.
    static func transaction<Value>(_ database: Database, _ body: (Database) throws -> Value) throws -> Value {
        try database.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
        do {
            let value = try body(database)
            try database.cachedStatement(sql: "COMMIT TRANSACTION").execute()
            return value
        } catch {
            // The first error says what happened. SQLite may have undone the transaction by itself.
            if database.isInsideTransaction { try? database.rollback() }
            throw error
        }
    }

    /// Runs `body`, which reads a few rows by their keys: on the connection that writes, unless writes are stuck. That
    /// one has its statements and pages at hand and is one step away, and a connection that only reads costs several
    /// times as much processor time. Other writes may come between two statements.
    func lookUp<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        guard !writes.withLock({ $0.areStuck(at: .now) }) else { return try await read(body) }
        return try await Self.traced("read") { [database] in try await database.writeWithoutTransaction(body) }
    }

    /// As ``write(outlasting:_:)`` for the time before there are tasks. Blocks the calling thread.
    package func writeBlocking<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.write(body)
    }

    /// As ``read(_:)`` for the time before there are tasks. Blocks the calling thread.
    func readBlocking<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.read(body)
    }

    /// A number that differs after any other process, or another ``Store``, has changed the database. Numbers of two
    /// stores cannot be compared.
    package func foreignChanges() async throws -> Int64 {
        // On the one connection that writes, whose own commits do not change it (SQLite, PRAGMA data_version).
        try await database.writeWithoutTransaction { database in
            try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0
        }
    }

    /// - Parameter copies: nil for a database that is on no disk.
    /// - Returns: where the database was copied to before.
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
            // A version that has all its steps goes on, wherever a change to a newer one was stopped.
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
            // Of several that start at once the first has done it.
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

    /// Makes an empty file, and its directory, where they are missing, for their owner only from the first moment,
    /// whatever the umask. SQLite gives the files beside the database (`-wal`, `-shm`) the database's own permissions, and
    /// where root makes them its owner.
    ///
    /// - Parameter exclusively: whether a file that is there already is an error.
    static func makeFile(at path: String, exclusively: Bool = false) throws {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        if let directory { try makeDirectory(directory) }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            // Made by another process in between.
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
