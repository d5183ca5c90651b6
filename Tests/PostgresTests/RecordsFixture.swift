import Foundation
import Store
import Synchronization

@testable import Postgres
@testable import PostgresStore

/// A database of a test's own on the shared server, with the schema of some records.
struct RecordsFixture {
    static let now: Int64 = 1_700_000_000

    /// Two pools, as two gateways have them.
    let stores: [PostgresStore]
    let clock = ScriptedRecordClock()

    init(_ migrations: [PostgresStore.Migration]) async throws {
        let server = try PostgresServer.shared.get()
        let name = "records_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        _ = try await PostgresConnection.connect(server.settings()).query("CREATE DATABASE \(name)")
        stores = [0, 1].map { _ in PostgresStore(PostgresPool(server.settings(database: name), size: 3)) }
        for statement in migrations.flatMap(\.statements) { try await stores[0].run(statement) }
    }

    static let writers = 6
    static let rounds = 100

    /// Runs `body` for each writer at the same time, half of them in each store.
    func race<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresStore, Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<Self.writers {
                group.addTask { try await body(stores[number % stores.count], number) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// A clock that believes each time of day, up to a bound.
final class ScriptedRecordClock: RecordClock {
    private let bound = Mutex(Int64.max)

    func believe(upTo time: Int64) { bound.withLock { $0 = time } }

    func pruningTime(_ now: Int64) -> Int64 { min(now, bound.withLock { $0 }) }
    func believedTime(_ now: Int64) -> Int64 { pruningTime(now) }
    func latestTime(_ now: Int64) -> Int64 { now }
    func keepPruningClock(now: Int64) async throws {}
}
