internal import FoundationEssentials
internal import GRDB
internal import Glibc

/// The copies of a database made before its schema changed, for a return to the previous version.
///
/// They are beside the database and readable only by its owner. `gatehouse.sqlite.schema-9` is the database as it was
/// with 9 steps, before the next ones ran.
struct SchemaCopies {
    static let mark = ".schema-"

    /// The number of copies kept: the newest and the one before.
    private static let kept = 2
    /// In seconds: the previous version may still be writing.
    private static let patience = 60.0

    /// The path of the database.
    let path: String

    private var directory: String { URL(filePath: path).deletingLastPathComponent().path }
    private var prefix: String { URL(filePath: path).lastPathComponent + Self.mark }

    private func copy(_ number: Int) -> String { "\(path)\(Self.mark)\(number)" }

    /// Locked while the schema changes. Its contents are those of ``SchemaChange``.
    private var lockPath: String { path + ".schema.lock" }

    /// Runs `body` under a lock that excludes other processes' schema changes of this database.
    func alone<Value>(_ body: (SchemaChange) throws -> Value) throws -> Value {
        let lock = unsafe open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw KeyFileError(lockPath, failed: "cannot be made") }
        defer { Glibc.close(lock) }
        StateDirectory(path: directory).giveToOwner(lock)
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw KeyFileError(lockPath, failed: "cannot be locked") }
        }
        return try body(SchemaChange(file: lock, path: lockPath, database: identity))
    }

    /// The inode number of the database file, which changes with a restore; 0 if it cannot be read.
    private var identity: UInt64 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// Whether a change was interrupted or is in progress.
    var hasBegunChange: Bool {
        var status = stat()
        return unsafe stat(lockPath, &status) == 0 && status.st_size > 0
    }

    /// The copy made before an interrupted change to `target` steps; nil if there is none.
    ///
    /// - Parameter steps: the number of steps that the database has.
    func ofStopped(_ change: SchemaChange, steps: Int, target: Int) -> String? {
        guard let first = change.begun(to: target), first < steps, FileManager.default.fileExists(atPath: copy(first))
        else { return nil }
        return copy(first)
    }

    /// Copies the database while other writers are locked out. One earlier copy is kept.
    ///
    /// - Parameter steps: the number of steps that the database has.
    /// - Returns: the path of the copy.
    /// - Throws: ``StoreError/notCopied(_:_:)``
    /// - Precondition: inside ``alone(_:)``
    func make(of database: any DatabaseWriter, steps: Int) throws(StoreError) -> String {
        let copy = copy(steps)
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Self.patience)
            let writer = try DatabaseQueue(path: path, configuration: configuration)
            try writer.inTransaction(.immediate) { _ in
                try make(copy, of: database)
                return .rollback
            }
            try writer.close()
            try removeOthers(than: steps)
        } catch {
            throw .notCopied(copy, StoreError.words(error))
        }
        return copy
    }

    private func make(_ copy: String, of database: any DatabaseWriter) throws {
        try removeUnfinished()
        let partial = copy + ".partial"
        do {
            try Store.copy(database, to: partial) { nil }
            guard unsafe rename(partial, copy) == 0 else { throw KeyFileError(copy, failed: "cannot be written") }
            try StateDirectory(path: directory).sync()
        } catch {
            // Frees the space on a full disk. The first error has the cause.
            try? removeUnfinished()
            throw error
        }
    }

    /// Removes the leftovers of a killed process. Other files beside them, such as an operator's, stay.
    private func removeUnfinished() throws {
        for name in try names() {
            let rest = name.dropFirst(prefix.count)
            guard let dot = rest.firstIndex(of: "."), Self.number(rest[..<dot]) != nil,
                ["partial", "partial-journal", "partial-wal", "partial-shm"].contains(rest[dot...].dropFirst())
            else { continue }
            try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
        }
    }

    /// Nil if the text is not in the form of a copy's number.
    private static func number(_ text: Substring) -> Int? {
        Int(text).flatMap { String($0) == text ? $0 : nil }
    }

    /// Copies of a newer schema are from a version that was abandoned.
    private func removeOthers(than number: Int) throws {
        let older = try numbers().filter { $0 < number }.sorted(by: >)
        let surplus = try numbers().filter { $0 > number } + older.dropFirst(Self.kept - 1)
        for each in surplus { try FileManager.default.removeItem(atPath: copy(each)) }
    }

    /// The newest copy that a version with these steps can use; nil if there is none.
    func newest(within known: Set<String>) -> String? {
        // An unreadable copy is unusable too.
        let numbers = (try? numbers()) ?? []
        return numbers.sorted(by: >).map(copy).first { path in
            let steps = try? Store.readOnly(path).read { try DatabaseMigrator().appliedIdentifiers($0) }
            return steps.map { $0.isSubset(of: known) } ?? false
        }
    }

    private func numbers() throws -> [Int] { try names().compactMap { Self.number($0.dropFirst(prefix.count)) } }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(prefix) }
    }
}
