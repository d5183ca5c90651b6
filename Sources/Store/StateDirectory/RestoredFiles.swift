internal import Encoding
internal import FoundationEssentials
internal import Glibc
internal import Pipeline

/// The files of a state directory that a restore replaces atomically.
///
/// New files are staged beside those in use. A journal of the renames is written first and removed last, so every
/// intermediate state can be undone: by the restore itself if it fails, and by the next one if the process was killed
/// or power was lost. No gateway starts while the journal exists.
struct RestoredFiles {
    /// One file: its name in use, and the name that its previous version is kept under.
    private struct Change {
        let name: String
        /// Nil if there was no previous file.
        let replaced: String?
    }

    private static let database = GatewayStore.name
    private static let recordName = "\(database).restore-unfinished"
    static let stagedEnd = ".restoring"
    private static let replacedMark = ".replaced-"

    private let directory: String

    init(_ stateDirectory: String) {
        directory = stateDirectory
    }

    private func path(_ name: String) -> String { "\(directory)/\(name)" }
    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    /// The path of a new file until all are staged.
    func stagingPath(_ name: String) -> String { path(name + Self.stagedEnd) }

    // MARK: Start

    /// Refuses to continue after an interrupted restore: a gateway would start with an empty database or with a mixture
    /// of two states, in which revoked tokens are valid again.
    ///
    /// - Throws: ``KeyFileError`` with instructions.
    func requireNoneUnfinished() throws(KeyFileError) {
        guard !exists(Self.recordName) else {
            throw KeyFileError(
                directory,
                "a restore was interrupted: repeat it (gatehouse store restore FILE), or put back what was there before "
                    + "(gatehouse store restore --undo)")
        }
        guard !exists(Self.database) else { return }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            // No directory means no leftovers.
            guard FileManager.default.fileExists(atPath: directory) else { return }
            throw KeyFileError(directory, "cannot be read: \(error)")
        }
        guard let left = names.filter(Self.isLeftOver).min() else { return }
        throw KeyFileError(
            path(Self.database),
            "is missing, but \(left) is there: restore a backup (gatehouse store restore FILE) or rename the file to use; "
                + "to begin with an empty database, move all \(Self.database)* files away")
    }

    private static func isLeftOver(_ name: String) -> Bool {
        [replacedMark, stagedEnd, SchemaCopies.mark, "-wal"].contains { name.hasPrefix(database + $0) }
    }

    // MARK: Replacing

    /// Moves the staged files into place. The previous files are kept under new names. When this returns, all changes
    /// survive a power loss; when it throws, nothing has changed unless the error says otherwise.
    ///
    /// - Parameters:
    ///   - keys: the names of staged files beside the database.
    ///   - now: seconds since 1970, for the names of the kept files.
    /// - Returns: the paths of the kept files.
    func putInPlace(keys: [String], now: Int64) throws -> [String] {
        let suffix = suffix(now)
        // The write-ahead log moves with its database: SQLite would apply it to another database of that name.
        let names = ["\(Self.database)-wal"] + keys + [Self.database]
        let changes = names.map { name in
            let replaced = name == "\(Self.database)-wal" ? "\(Self.database)\(suffix)-wal" : name + suffix
            return Change(name: name, replaced: exists(name) ? replaced : nil)
        }
        do {
            try write(changes)
        } catch {
            // Nothing has been renamed, but the journal may exist.
            try remove(Self.recordName)
            throw error
        }
        do {
            for change in changes { if let replaced = change.replaced { try rename(change.name, to: replaced) } }
            try remove("\(Self.database)-shm")
            for name in keys + [Self.database] { try rename(name + Self.stagedEnd, to: name) }
            try StateDirectory(path: directory).sync()
            try remove(Self.recordName)
            try StateDirectory(path: directory).sync()
        } catch {
            do {
                try undo(changes)
            } catch let second {
                throw KeyFileError(
                    directory,
                    "\(error); putting back what was there failed too: \(second); repeat the restore, or gatehouse store "
                        + "restore --undo")
            }
            throw error
        }
        return changes.compactMap(\.replaced).map(path)
    }

    /// Undoes an interrupted restore.
    ///
    /// - Returns: false if there is none.
    func undoUnfinished() throws -> Bool {
        guard let changes = try readRecord() else { return false }
        try undo(changes)
        return true
    }

    /// Removes staged files that were never moved into place.
    func removeStaged() throws {
        for name in [Self.database] + StoreCopies.keyNames {
            // Including the temporary files beside a file that is being written.
            for end in ["", "-journal", ".new"] where exists(name + Self.stagedEnd + end) {
                try remove(name + Self.stagedEnd + end)
            }
        }
    }

    /// Each step may or may not have been taken.
    private func undo(_ changes: [Change]) throws {
        // Undoing can be interrupted too, so the journal is needed.
        if !exists(Self.recordName) { try write(changes) }
        for change in changes.reversed() {
            if let replaced = change.replaced {
                if exists(replaced) { try rename(replaced, to: change.name) }
            } else {
                try remove(change.name)
            }
        }
        try removeStaged()
        try StateDirectory(path: directory).sync()
        try remove(Self.recordName)
        try StateDirectory(path: directory).sync()
    }

    /// Returns an unused suffix for replaced files, unique also among restores in the same second.
    private func suffix(_ now: Int64) -> String {
        let taken = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var (name, number) = ("\(Self.replacedMark)\(now)", 0)
        while taken.contains(where: { $0.hasSuffix(name) || $0.hasSuffix(name + "-wal") }) {
            number += 1
            name = "\(Self.replacedMark)\(now)-\(number)"
        }
        return name
    }

    // MARK: The record

    private func write(_ changes: [Change]) throws {
        let object: JSONObject = [
            "changes": .array(
                changes.map { ["name": .string($0.name), "kept": $0.replaced.map(JSON.string) ?? .null] })
        ]
        try OwnerOnlyFile(path: path(Self.recordName)).write(object.encoded() + [0x0A])
    }

    private func readRecord() throws -> [Change]? {
        let file = OwnerOnlyFile(path: path(Self.recordName))
        guard let bytes = try file.read() else { return nil }
        let entries = (try? JSON.parse(bytes))?["changes"]?.arrayValue
        let changes = entries?.compactMap { entry -> Change? in
            guard let name = entry["name"]?.stringValue, !name.utf8.contains(UInt8(ascii: "/")) else { return nil }
            let replaced = entry["kept"]?.stringValue
            return replaced?.utf8.contains(UInt8(ascii: "/")) == true ? nil : Change(name: name, replaced: replaced)
        }
        guard let changes, changes.count == entries?.count else { throw KeyFileError(file.path, "is damaged") }
        return changes
    }

    // MARK: Steps

    private func rename(_ name: String, to other: String) throws(KeyFileError) {
        guard unsafe Glibc.rename(path(name), path(other)) == 0 else {
            throw KeyFileError(path(name), failed: "cannot be renamed to \(other)")
        }
    }

    /// A missing file is not an error.
    private func remove(_ name: String) throws(KeyFileError) {
        guard unsafe unlink(path(name)) == 0 || errno == ENOENT else {
            throw KeyFileError(path(name), failed: "cannot be removed")
        }
    }
}
