import Postgres
import Store

@testable import PostgresStore

/// A database of a test's own on the shared server, with the current schema.
struct RecordsDatabase {
    let store: PostgresStore
    let settings: PostgresSettings

    /// - Parameter isMigrated: whether it has the schema, or nothing.
    init(isMigrated: Bool = true) async throws {
        let server = try PostgresServer.shared.get()
        let name = "records_" + String(UInt64.random(in: .min ... .max), radix: 36)
        let administrator = try await PostgresConnection.connect(server.settings())
        _ = try await administrator.query("CREATE DATABASE \(name)")
        settings = server.settings(database: name)
        store = Self.open(settings)
        if isMigrated { try await store.migrate() }
    }

    private static func open(_ settings: PostgresSettings) -> PostgresStore {
        PostgresStore(PostgresPool(settings, size: 3))
    }

    /// Another gateway, with connections of its own.
    func other() -> PostgresStore { Self.open(settings) }
}

/// The time of day, not believed beyond a limit.
struct LimitedClock: RecordClock {
    var limit = Int64.max

    func pruningTime(_ now: Int64) -> Int64 { min(now, limit) }
    func believedTime(_ now: Int64) -> Int64 { min(now, limit) }
    func latestTime(_ now: Int64) -> Int64 { now }
    func keepPruningClock(now: Int64) async throws {}
}

extension PostgresSessions {
    init(_ store: PostgresStore) { self.init(store, clock: LimitedClock()) }
}

extension PostgresAuthorizationCodes {
    init(_ store: PostgresStore) { self.init(store, clock: LimitedClock()) }
}

extension PostgresRevocations {
    init(_ store: PostgresStore) { self.init(store, clock: LimitedClock()) }
}
