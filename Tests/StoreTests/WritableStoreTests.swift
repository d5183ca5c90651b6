import GRDB
import Logging
import TestSupport
import Testing

@testable import Store

@Suite("Whether the database can be written")
struct WritableStoreTests {
    private static func reason(_ store: Store) async -> String? {
        await store.tryWriting()
        return store.writeError
    }

    @Test("Another process's lock is seen, and its end; while all is well nothing is written")
    func locked() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try fixture.open()
        let before = try await store.foreignChanges()
        #expect(await Self.reason(store) == nil)
        #expect(try await store.foreignChanges() == before)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: fixture.path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        #expect(await Self.reason(store) == "database is locked (SQLite 5)")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(store.writeError != nil, "only a trial can know")
        #expect(await Self.reason(store) == nil)
        try store.close()
    }

    @Test("A write that a full disk refuses tells it at once; one that fails by itself does not")
    func full() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try fixture.open()
        await #expect(throws: DatabaseError.self) { try await store.write { try $0.execute(sql: "NONSENSE") } }
        #expect(store.writeError == nil)
        await #expect(throws: DatabaseError.self) {
            try await store.write { database in
                // No less than it has already, so that the next page is one too many.
                try database.execute(sql: "PRAGMA max_page_count = 1; CREATE TABLE more (value)")
            }
        }
        #expect(store.writeError == "database or disk is full (SQLite 13)")
        #expect(await Self.reason(store) == nil)
    }

    @Test("A trial that does not end has failed")
    func hanging() {
        let condition = WriteCondition()
        let began = ContinuousClock.now
        _ = condition.trialBegins(now: began)
        #expect(condition.error(now: began + .seconds(2)) == nil)
        #expect(condition.error(now: began + .seconds(4)) == "the disk does not respond")
        condition.trialSucceeded(hasWritten: false)
        #expect(condition.error(now: began + .seconds(4)) == nil)
    }

    /// A store whose trial never ends.
    private final class HangingStore: StateStore {
        let records: GatewayRecords
        var keyRings: (any KeyRingRecords)? { nil }
        var schemaVersion: Int { 1 }
        var writeError: String? { "it hangs" }
        private let trial = AsyncStream<Void>.makeStream()

        init() throws { records = try Store(path: ":memory:", migrations: []).records }

        func tryWriting() async { for await _ in trial.stream {} }
        func recordCleanShutdown(now: Int64) async throws {}
    }

    @Test("A trial that hangs is logged once, while it lasts")
    func hangingTrial() async throws {
        let log = CapturedLog()
        let watch = StoreWatch(try HangingStore(), logger: log.logger)
        let running = Task { await watch.run() }
        let end = ContinuousClock.now + .seconds(30)
        while watch.failingSince == nil, ContinuousClock.now < end { await Task.yield() }
        #expect(watch.failingSince != nil)
        running.cancel()
        await running.value
        #expect(log.lines.map { $0.contains("store cannot be written") } == [true])
    }

    @Test("What was only looked at says nothing of an earlier failure")
    func onlyLooked() {
        let condition = WriteCondition()
        #expect(!condition.trialBegins(now: .now))
        condition.writeFailed(DatabaseError(resultCode: .SQLITE_FULL, message: "full"))
        condition.trialSucceeded(hasWritten: false)
        #expect(condition.error(now: .now) == "full (SQLite 13)")
        #expect(condition.trialBegins(now: .now))
        condition.trialSucceeded(hasWritten: true)
        #expect(condition.error(now: .now) == nil)
    }
}
