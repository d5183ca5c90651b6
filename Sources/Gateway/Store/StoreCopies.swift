internal import Encoding
internal import FoundationEssentials
package import Settings
package import Store

/// Backups of the gateway's database, with or without the keys that open what is sealed in it.
package struct StoreCopies: Sendable {
    private let stateDirectory: String

    package init(_ settings: GatewaySettings) {
        stateDirectory = settings.stateDirectory
    }

    init(stateDirectory: String) {
        self.stateDirectory = stateDirectory
    }

    private var path: String { GatewayStore.path(in: stateDirectory) }

    // MARK: Backup

    /// Copies the database to a new file, as it is at one moment, while gateways run.
    ///
    /// - Parameter withKeys: whether the copy holds the keys of the state directory too.
    /// - Returns: what was done, in words.
    package func backUp(to copy: String, withKeys: Bool) throws -> String {
        guard !FileManager.default.fileExists(atPath: copy) else {
            throw WiringFault(description: "\(copy): is there already")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            throw WiringFault(description: "\(path): is not there")
        }
        // A mount that isn't there is not to be made up for on the disk below.
        let directory = URL(filePath: copy).deletingLastPathComponent().path
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory else {
            throw WiringFault(description: "\(copy): there is no directory \(directory)")
        }
        let keys = withKeys ? try keyFiles() : []
        let partial = copy + Self.partialEnd
        try? FileManager.default.removeItem(atPath: partial)
        do {
            try Store(reading: path).copy(to: partial, carrying: withKeys ? keys : nil)
            try FileManager.default.moveItem(atPath: partial, toPath: copy)
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw WiringFault(description: "\(copy): cannot be written: \(StoreError.words(error))")
        }
        let names = keys.map(\.name).joined(separator: ", ")
        return withKeys
            ? "\(copy): written, with the keys of \(names.isEmpty ? "no file" : names); keep it as secret as they are"
            : "\(copy): written, without keys: what is sealed in it is of use with those of the state directory only"
    }

    private func keyFiles() throws -> [(name: String, contents: [UInt8])] {
        let names = try FileManager.default.contentsOfDirectory(atPath: stateDirectory)
        return try names.filter(Self.isKeyFile).sorted().compactMap { name in
            try OwnerOnlyFile(path: "\(stateDirectory)/\(name)").read().map { (name, $0) }
        }
    }

    private static func isKeyFile(_ name: String) -> Bool {
        name == "sealing.key" || KeyPurpose.allCases.contains { name == "\($0.rawValue)-keys.json" }
    }

    // MARK: Restore

    /// Puts the copy in the database's place, if it is whole and no newer than this version. What was there is kept.
    ///
    /// - Parameters:
    ///   - withKeys: whether the copy's keys take the place of the state directory's.
    ///   - now: seconds since 1970, in the names of what is kept; nil for the present.
    /// - Returns: what was done, in words.
    package func restore(from copy: String, withKeys: Bool, now: Int64? = nil) async throws -> String {
        guard FileManager.default.fileExists(atPath: copy) else {
            throw WiringFault(description: "\(copy): is not there")
        }
        let lock = try StateDirectoryLock(stateDirectory, .alone)
        defer { withExtendedLifetime(lock) {} }
        let new = path + Self.restoringEnd
        try? FileManager.default.removeItem(atPath: new)
        let keys: [(name: String, contents: [UInt8])]
        do {
            let source = try Store(reading: copy)
            let report = await source.report(GatewayStore.migrations)
            if case .newer(let unknown) = report.schema { throw StoreError.newerSchema(unknown) }
            guard report.faults.isEmpty else { throw StoreError.damaged(report.faults) }
            keys = try await Self.keys(in: source)
            guard !withKeys || !keys.isEmpty else { throw WiringFault(description: "it holds no keys") }
            try source.copy(to: new, carrying: nil)
        } catch {
            try? FileManager.default.removeItem(atPath: new)
            throw WiringFault(description: "\(copy): cannot be restored: \(StoreError.words(error))")
        }
        return try replace(by: new, keys: withKeys ? keys : [], keeping: suffix(now ?? WallClock.seconds()))
    }

    /// For the names of what is replaced; one that is not taken, also by a restore of the same second.
    private func suffix(_ now: Int64) -> String {
        let taken = (try? FileManager.default.contentsOfDirectory(atPath: stateDirectory)) ?? []
        var (name, number) = (".replaced-\(now)", 0)
        while taken.contains(where: { $0.hasSuffix(name) || $0.hasSuffix(name + "-wal") }) {
            number += 1
            name = ".replaced-\(now)-\(number)"
        }
        return name
    }

    private static func keys(in source: Store) async throws -> [(name: String, contents: [UInt8])] {
        // A copy names files; it is not to name any others.
        try await source.carriedFiles().filter { isKeyFile($0.name) }
    }

    /// The log of writes goes with the database that it belongs to: beside another one it would be taken for its own.
    private func replace(
        by new: String, keys: [(name: String, contents: [UInt8])], keeping suffix: String
    ) throws -> String {
        let files = FileManager.default
        var kept: [String] = []
        for end in ["-wal", ""] where files.fileExists(atPath: path + end) {
            try files.moveItem(atPath: path + end, toPath: path + suffix + end)
            kept.append(path + suffix + end)
        }
        try? files.removeItem(atPath: path + "-shm")
        for (name, contents) in keys {
            let file = OwnerOnlyFile(path: "\(stateDirectory)/\(name)")
            try file.locked {
                if let before = try file.read(), before != contents {
                    try OwnerOnlyFile(path: file.path + suffix).write(before)
                    kept.append(file.path + suffix)
                }
                try file.write(contents)
            }
        }
        try files.moveItem(atPath: new, toPath: path)
        let keyText = keys.isEmpty ? "" : " with the keys of \(keys.map(\.name).joined(separator: ", "))"
        let keptText = kept.isEmpty ? "" : "; what was there: \(kept.joined(separator: ", "))"
        return "\(path): restored\(keyText)\(keptText)"
    }

    // MARK: Check

    /// Looks at a database without changing it.
    ///
    /// - Parameter file: a backup; nil for the state directory's own.
    package func check(_ file: String?) async throws -> StoreReport {
        let path = file ?? path
        guard FileManager.default.fileExists(atPath: path) else {
            throw WiringFault(description: "\(path): is not there")
        }
        do {
            return await (try Store(reading: path)).report(GatewayStore.migrations)
        } catch {
            throw WiringFault(description: "\(path): cannot be read: \(StoreError.words(error))")
        }
    }

    // MARK: Progress

    /// How far ``backUp(to:withKeys:)`` is, in words.
    package func progress(ofCopyTo copy: String) -> String {
        "copying \(path): \(Self.size(copy + Self.partialEnd)) of \(Self.size(path))"
    }

    package func progress(ofRestoreFrom copy: String) -> String {
        "restoring \(copy): \(Self.size(path + Self.restoringEnd)) of \(Self.size(copy))"
    }

    package func progress(ofCheck file: String?) -> String {
        "reading \(file ?? path): \(Self.size(file ?? path))"
    }

    private static let partialEnd = ".partial"
    private static let restoringEnd = ".restoring"

    private static func size(_ path: String) -> String {
        // One that is not there yet has nothing in it.
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let bytes = (attributes?[.size] as? any BinaryInteger).map { Int64($0) } ?? 0
        return bytes < 10_000_000 ? "\((bytes + 999) / 1000) kB" : "\(bytes / 1_000_000) MB"
    }
}
