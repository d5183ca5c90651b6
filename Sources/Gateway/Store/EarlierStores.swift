internal import FoundationEssentials
internal import Store

/// The files in which earlier versions kept what is in one now.
struct EarlierStores {
    private struct File {
        var name: String
        var migrations: [Store.Migration]
        var tables: [(name: String, columns: String)]
    }

    private static let files = [
        File(
            name: "sessions.sqlite", migrations: StoredSessions.migrations,
            tables: [
                (
                    "sessions",
                    """
                    family, pool_id, subject, origin_id, device_id, platform, generation, token, answer,
                    retry_until, signed_in_at, refreshed_at, ends_at, ended_at
                    """
                )
            ]),
        File(
            name: "conduct.sqlite", migrations: StoredLimits.migrations + StoredOutbox.migrations,
            tables: [
                ("limit_counts", "key, window, count, ends_at"), ("sign_in_failures", "key, count, last_at, ends_at"),
                ("known_devices", "key, ends_at"),
                ("outbox", "key, destination, kind, subject, body, created_at, due_at, attempts, must_arrive"),
            ]),
    ]

    private let stateDirectory: String

    init(_ stateDirectory: String) {
        self.stateDirectory = stateDirectory
    }

    /// Takes over what they hold, and then removes them. A process that ends in between leaves what the next one takes
    /// over again: no row is there twice, and nothing has been served yet.
    ///
    /// - Throws: ``WiringFault``
    func takeOver(into store: Store) async throws(WiringFault) {
        for file in Self.files {
            let path = "\(stateDirectory)/\(file.name)"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            do {
                // Brought to the last schema it had.
                try Store(path: path, migrations: file.migrations).close()
                try await store.takeOver(file.tables, from: path)
                for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
                    try FileManager.default.removeItem(atPath: path + suffix)
                }
            } catch {
                // Of two gateways that start at the same time one takes it over.
                guard FileManager.default.fileExists(atPath: path) else { continue }
                throw WiringFault(description: "\(path): cannot be taken over: \(StoreError.words(error))")
            }
        }
    }
}
