internal import Clocks
internal import Encoding
internal import FoundationEssentials

/// Backups of the gateway's database, with or without the keys for its sealed data.
package struct StoreCopies: Sendable {
    private let stateDirectory: String
    private let canReadKeys: @Sendable (_ contents: [UInt8], _ name: String) -> Bool

    /// - Parameter canReadKeys: whether a gateway could use these contents as the key file of that name.
    package init(
        stateDirectory: String, canReadKeys: @escaping @Sendable (_ contents: [UInt8], _ name: String) -> Bool
    ) {
        self.stateDirectory = stateDirectory
        self.canReadKeys = canReadKeys
    }

    private var path: String { GatewayStore.path(in: stateDirectory) }

    // MARK: Backup

    /// Copies a snapshot of the database to a new file while gateways run.
    ///
    /// - Parameter withKeys: whether the copy includes the keys of the state directory.
    /// - Returns: a description of the result.
    package func backUp(to copy: String, withKeys: Bool) throws -> String {
        let directory = try Self.directory(forNew: copy)
        guard FileManager.default.fileExists(atPath: path) else {
            throw StartupError(description: "\(path): is not there")
        }
        let partial = copy + Self.partialEnd
        var keys: [(name: String, contents: [UInt8])] = []
        do {
            // Left behind by a killed process.
            try Self.removeIfThere(partial)
            try Store(reading: path).copy(to: partial) {
                guard withKeys else { return nil }
                // The keys are read after the rows: by then, each key that sealed one of these rows exists, and it
                // stays as long as they do.
                keys = try keyFiles()
                return keys
            }
            try FileManager.default.moveItem(atPath: partial, toPath: copy)
            try StateDirectory(path: directory).sync()
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw StartupError(description: "\(copy): cannot be written: \(StoreError.words(error))")
        }
        let names = keys.map(\.name).joined(separator: ", ")
        return withKeys
            ? "\(copy): written, with the keys of \(names.isEmpty ? "no file" : names); keep it as secret as they are"
            : "\(copy): written, without keys: what is sealed in it is of use with those of the state directory only"
    }

    /// The directory of a new backup.
    ///
    /// - Throws: ``StartupError`` if the file exists, or if the directory is missing: a missing mount must not be
    ///   replaced by a directory on the disk below.
    package static func directory(forNew copy: String) throws(StartupError) -> String {
        guard !FileManager.default.fileExists(atPath: copy) else {
            throw StartupError(description: "\(copy): is there already")
        }
        let directory = URL(filePath: copy).deletingLastPathComponent().path
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory else {
            throw StartupError(description: "\(copy): there is no directory \(directory)")
        }
        return directory
    }

    private func keyFiles() throws -> [(name: String, contents: [UInt8])] {
        let names = try FileManager.default.contentsOfDirectory(atPath: stateDirectory)
        return try names.filter(Self.keyNames.contains).sorted().compactMap { name in
            try OwnerOnlyFile(path: "\(stateDirectory)/\(name)").read().map { (name, $0) }
        }
    }

    /// The key files that a state directory may have.
    static let keyNames = KeyPurpose.allCases.flatMap(\.fileNames)

    // MARK: Restore

    /// Replaces the database with the copy, if the copy is intact and no newer than this version. The replaced files
    /// are kept. When this throws, nothing has changed.
    ///
    /// An interrupted restore is undone first.
    ///
    /// - Parameters:
    ///   - withKeys: whether the copy's keys replace the state directory's.
    ///   - now: seconds since 1970, for the names of the kept files; nil for the present.
    /// - Returns: a description of the result.
    package func restore(from copy: String, withKeys: Bool, now: Int64? = nil) async throws -> String {
        guard FileManager.default.fileExists(atPath: copy) else {
            throw StartupError(description: "\(copy): is not there")
        }
        let lock = try StateDirectoryLock(stateDirectory, .alone)
        defer { withExtendedLifetime(lock) {} }
        let files = RestoredFiles(stateDirectory)
        do {
            _ = try files.undoUnfinished()
            try files.removeStaged()
            let keys = try await stage(copy, withKeys: withKeys)
            return try locked(keys[...]) {
                let replaced = try keys.filter { try keyFile($0.name).read() != $0.contents }.map(\.name)
                for name in Set(keys.map(\.name)).subtracting(replaced) {
                    try Self.removeIfThere(files.stagingPath(name))
                }
                let replacedFiles = try files.putInPlace(keys: replaced, now: now ?? WallClock.seconds())
                let keyText = keys.isEmpty ? "" : " with the keys of \(keys.map(\.name).joined(separator: ", "))"
                let replacedText =
                    replacedFiles.isEmpty ? "" : "; what was there: \(replacedFiles.joined(separator: ", "))"
                return "\(path): restored\(keyText)\(replacedText)"
            }
        } catch {
            try? files.removeStaged()
            throw StartupError(description: "\(copy): cannot be restored: \(StoreError.words(error))")
        }
    }

    /// Restores the state from before an interrupted restore.
    ///
    /// - Returns: a description of the result.
    package func undoRestore() throws -> String {
        let lock = try StateDirectoryLock(stateDirectory, .alone)
        defer { withExtendedLifetime(lock) {} }
        let hasUndone = try RestoredFiles(stateDirectory).undoUnfinished()
        return hasUndone
            ? "\(path): as before the restore that was interrupted" : "\(path): no restore was interrupted"
    }

    /// Stages and checks all files that will be moved into place.
    ///
    /// - Returns: the copy's keys that are staged.
    private func stage(_ copy: String, withKeys: Bool) async throws -> [(name: String, contents: [UInt8])] {
        let files = RestoredFiles(stateDirectory)
        let staged = files.stagingPath(GatewayStore.name)
        let source = try Store(reading: copy)
        let keys = withKeys ? try await Self.keys(in: source) : []
        guard !withKeys || !keys.isEmpty else { throw StartupError(description: "it holds no keys") }
        for (name, contents) in keys where !canReadKeys(contents, name) {
            throw StartupError(description: "its \(name) is damaged")
        }
        try source.copy(to: staged) { nil }
        let report = await (try Store(reading: staged)).report(GatewayStore.migrations)
        if case .newer(let unknown) = report.schema { throw StoreError.newerSchema(unknown) }
        guard report.errors.isEmpty else { throw StoreError.damaged(report.errors) }
        for (name, contents) in keys { try OwnerOnlyFile(path: files.stagingPath(name)).write(contents) }
        return keys
    }

    private func keyFile(_ name: String) -> OwnerOnlyFile { OwnerOnlyFile(path: "\(stateDirectory)/\(name)") }

    /// Runs `body` while holding the locks of these files, which commands take to change them.
    private func locked<Value>(
        _ keys: ArraySlice<(name: String, contents: [UInt8])>, _ body: () throws -> Value
    ) throws -> Value {
        guard let first = keys.first else { return try body() }
        return try keyFile(first.name).locked { try locked(keys.dropFirst(), body) }
    }

    private static func removeIfThere(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }

    /// The key files in a copy; empty for any other database.
    package static func keys(in source: Store) async throws -> [(name: String, contents: [UInt8])] {
        // The copy must not be able to name any other files.
        try await source.carriedFiles().filter { keyNames.contains($0.name) }
    }

    // MARK: Check

    /// Checks a database without changing it.
    ///
    /// - Parameter file: a backup; nil for the state directory's own.
    package func check(_ file: String?) async throws -> StoreReport {
        let path = file ?? path
        guard FileManager.default.fileExists(atPath: path) else {
            throw StartupError(description: "\(path): is not there")
        }
        do {
            return await (try Store(reading: path)).report(GatewayStore.migrations)
        } catch {
            throw StartupError(description: "\(path): cannot be read: \(StoreError.words(error))")
        }
    }

    // MARK: Progress

    /// The progress of ``backUp(to:withKeys:)``, as text.
    package func progress(ofCopyTo copy: String) -> String {
        "copying \(path): \(Self.size(copy + Self.partialEnd)) of \(Self.size(path))"
    }

    package func progress(ofRestoreFrom copy: String) -> String {
        "restoring \(copy): \(Self.size(path + RestoredFiles.stagedEnd)) of \(Self.size(copy))"
    }

    package func progress(ofCheck file: String?) -> String {
        "reading \(file ?? path): \(Self.size(file ?? path))"
    }

    private static let partialEnd = ".partial"

    private static func size(_ path: String) -> String {
        // A missing file counts as empty.
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let bytes = (attributes?[.size] as? any BinaryInteger).map { Int64($0) } ?? 0
        return bytes < 10_000_000 ? "\((bytes + 999) / 1000) kB" : "\(bytes / 1_000_000) MB"
    }
}
