internal import FoundationEssentials
internal import Keys
internal import PostgresStore
package import Settings
package import Store

/// Copies all stored records and the gateways' own keys between a state directory, PostgreSQL and backups.
package struct StateTransfer: Sendable {
    private let settings: GatewaySettings
    private let state: PostgresStateSettings

    /// - Throws: ``StartupError`` if the settings configure no PostgreSQL.
    package init(_ settings: GatewaySettings) throws(StartupError) {
        guard let state = settings.state?.postgres else {
            throw StartupError(description: "there is no section state.postgres in the configuration")
        }
        self.settings = settings
        self.state = state
    }

    // MARK: To PostgreSQL

    /// Copies the state directory's database and keys to PostgreSQL. If this throws, no records have been copied, and
    /// it can be run again.
    ///
    /// - Parameter replaces: whether records that are already in PostgreSQL are removed, and keys replaced.
    /// - Returns: a summary as text.
    package func fromDirectory(replaces: Bool, report: @escaping @Sendable (Int) -> Void) async throws -> String {
        try GatewayStore.checkDirectory(settings.stateDirectory)
        let path = GatewayStore.path(in: settings.stateDirectory)
        guard FileManager.default.fileExists(atPath: path) else {
            throw StartupError(description: "\(path): is not there")
        }
        // Opened exclusively: records that a gateway wrote meanwhile would be lost. An older schema is migrated to the
        // current one.
        let source = try GatewayStore.openAlone(in: settings.stateDirectory)
        defer { withExtendedLifetime(source) {} }
        let files = KeyRings(stateDirectory: settings.stateDirectory)
        var rings: [KeyPurpose: KeyRing] = [:]
        for purpose in KeyPurpose.allCases { rings[purpose] = try await files[purpose].read() }
        return try await put(source, rings, replaces: replaces, report: report)
    }

    /// Replaces the records in PostgreSQL by those of a backup, and with `withKeys` the keys as well. The backup is not
    /// changed, even if it has an older schema.
    ///
    /// - Returns: a summary as text.
    package func restore(
        from copy: String, withKeys: Bool, replaces: Bool, report: @escaping @Sendable (Int) -> Void
    ) async throws -> String {
        let found = try await StoreCopies(settings).check(copy)
        if case .newer(let unknown) = found.schema {
            throw StartupError(description: "\(copy): cannot be restored: \(StoreError.newerSchema(unknown))")
        }
        guard found.isGood else {
            throw StartupError(description: "\(copy): is damaged; see gatehouse store check")
        }
        let rings = withKeys ? try await StoreCopies.keyRings(in: copy) : [:]
        guard !withKeys || !rings.isEmpty else { throw StartupError(description: "\(copy): holds no keys") }
        let work = "\(GatewayStore.path(in: settings.stateDirectory)).migrated"
        // Left over from a process that was killed.
        try removeIfThere(work)
        defer { try? removeIfThere(work) }
        let source = try found.schema == .current ? Store(reading: copy) : migrated(copy, in: work)
        return try await put(source, rings, replaces: replaces, report: report)
    }

    /// Returns a copy of the backup with the current schema, in a directory of its own, because a migration creates
    /// further files beside a database.
    private func migrated(_ copy: String, in directory: String) throws -> Store {
        try StateDirectory(path: settings.stateDirectory).make()
        let path = GatewayStore.path(in: directory)
        try Store(reading: copy).copy(to: path) { nil }
        return try GatewayStore.make(at: path)
    }

    private func put(
        _ source: Store, _ rings: [KeyPurpose: KeyRing], replaces: Bool, report: @escaping @Sendable (Int) -> Void
    ) async throws -> String {
        let target = try await GatewayState.openPostgres(state, settings)
        let shared = try KeyRings(settings, target)
        try await requireNoGateway(target)
        for (purpose, ring) in rings where !replaces {
            guard let found = try await shared[purpose].read(), found != ring else { continue }
            throw StartupError(
                description: "the \(purpose.rawValue) keys in the database are others; --replace replaces them")
        }
        var keys: [KeyPurpose: @Sendable (Int64) throws -> KeyRingRecord] = [:]
        for (purpose, ring) in rings { keys[purpose] = shared.sealer(of: ring, for: purpose) }
        do {
            let counts = try await target.store.takeOver(source, keys: keys, replaces: replaces, report: report)
            try await target.close()
            return "\(Self.words(counts)) and \(rings.count) key rings are in PostgreSQL now"
        } catch is PostgresStore.NotEmpty {
            throw StartupError(description: "the database holds records already; --replace replaces them")
        }
    }

    /// Checks that no gateway uses the database. Records that it stores meanwhile would be lost or mixed.
    private func requireNoGateway(_ target: PostgresState) async throws {
        let running = try await target.records.replicas?.all().filter { $0.state == .alive }.map(\.name) ?? []
        guard running.isEmpty else {
            throw StartupError(
                description: "gateways run with this database: \(running.joined(separator: ", ")); stop them first")
        }
    }

    // MARK: From PostgreSQL

    /// Copies records and keys from PostgreSQL into a state directory that has no database.
    ///
    /// - Returns: a summary as text.
    package func toDirectory(report: @escaping @Sendable (Int) -> Void) async throws -> String {
        let path = GatewayStore.path(in: settings.stateDirectory)
        guard !FileManager.default.fileExists(atPath: path) else {
            throw StartupError(description: "\(path): is there already; move it away first")
        }
        let source = try await GatewayState.openPostgres(state, settings)
        try await requireNoGateway(source)
        try StateDirectory(path: settings.stateDirectory).make()
        let copy = "\(path).transferred"
        try removeIfThere(copy)
        defer { try? removeIfThere(copy) }
        let counts = try await write(
            source, to: copy, in: settings.stateDirectory, withKeys: true, report: report)
        _ = try await StoreCopies(settings).restore(from: copy, withKeys: true)
        return "\(Self.words(counts)) and the keys are in \(settings.stateDirectory) now"
    }

    /// Writes a consistent snapshot of all records to a file in the format of a single gateway's backup.
    ///
    /// - Returns: a summary as text.
    package func backUp(
        to copy: String, withKeys: Bool, report: @escaping @Sendable (Int) -> Void
    ) async throws -> String {
        let directory = try StoreCopies.directory(forNew: copy)
        let source = try await GatewayState.openPostgres(state, settings)
        let counts = try await write(source, to: copy, in: directory, withKeys: withKeys, report: report)
        let keys = withKeys ? "with the gateways' keys; keep it as secret as they are" : "without keys"
        return "\(copy): written, \(Self.words(counts)), \(keys)"
    }

    private func write(
        _ source: PostgresState, to copy: String, in directory: String, withKeys: Bool,
        report: @escaping @Sendable (Int) -> Void
    ) async throws -> [(table: String, count: Int)] {
        // A directory and a file: a database creates further files beside itself.
        let (work, partial) = ("\(copy).work", "\(copy).partial")
        let remains = [work, partial]
        // Left over from a process that was killed.
        for path in remains { try removeIfThere(path) }
        defer { for path in remains { try? removeIfThere(path) } }
        let target = try GatewayStore.make(at: GatewayStore.path(in: work))
        let counts = try await source.store.copy(to: target, report: report)
        var keys: [(name: String, contents: [UInt8])]?
        if withKeys {
            let shared = try KeyRings(settings, source)
            var found: [(name: String, contents: [UInt8])] = []
            for purpose in KeyPurpose.allCases {
                guard let ring = try await shared[purpose].read() else { continue }
                found.append((purpose.fileName, ring.encoded(for: purpose)))
            }
            keys = found
        }
        try target.copy(to: partial) { keys }
        try target.close()
        try await source.close()
        try FileManager.default.moveItem(atPath: partial, toPath: copy)
        try keepNames(in: directory)
        return counts
    }

    /// Syncs the directory, so that its file names survive a loss of power.
    private func keepNames(in directory: String) throws { try StateDirectory(path: directory).sync() }

    // MARK: The schema

    /// Migrates the database to the current schema.
    ///
    /// - Returns: a summary as text.
    package func migrate() async throws -> String {
        let target = try await GatewayState.openPostgres(state, settings)
        let steps = target.schemaVersion
        try await target.close()
        return "the schema is current: \(steps) steps"
    }

    /// The schema, and the number of rows of each table.
    package func report() async throws -> StoreReport {
        let source = try await GatewayState.openPostgres(state, settings)
        var report = StoreReport(schema: .current)
        report.rows = try await source.store.counts()
        try await source.close()
        return report
    }

    private static func words(_ counts: [(table: String, count: Int)]) -> String {
        "\(counts.map(\.count).reduce(0, +)) records"
    }

    private func removeIfThere(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }
}
