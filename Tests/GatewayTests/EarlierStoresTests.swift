import Foundation
import GRDB
import Store
import Testing

@testable import Gateway

@Suite("The files of earlier versions")
struct EarlierStoresTests {
    /// The state directory of a version with three files, each with something in it.
    static func fixture() async throws -> StoreFixture {
        let fixture = StoreFixture()
        let revocations = try Store(path: fixture.path, migrations: StoredRevocations.migrations)
        try await StoredRevocations(revocations).keep([StoreFixture.revocation("r")])
        try revocations.close()
        let sessions = try Store(path: fixture.directory + "/sessions.sqlite", migrations: StoredSessions.migrations)
        try await StoredSessions(sessions).begin(StoreFixture.session(1))
        try sessions.close()
        let conduct = try Store(
            path: fixture.directory + "/conduct.sqlite",
            migrations: StoredLimits.migrations + StoredOutbox.migrations)
        _ = try await StoredLimits(conduct).addFailures(of: ["a"], at: 5, endsAt: 99)
        try await StoredLimits(conduct).remember(device: "d", endsAt: 99)
        _ = try await StoredLimits(conduct).add([CountRecord(key: "c", window: 1, count: 7, endsAt: 99)])
        _ = try await StoredOutbox(conduct).add(StoreFixture.message("m"), limit: 9)
        try conduct.close()
        return fixture
    }

    static func expectAll(in store: Store) async throws {
        #expect(try await StoredRevocations(store).all(now: 0) == [StoreFixture.revocation("r")])
        #expect(try await StoredSessions(store).session([1]) == StoreFixture.session(1))
        let limits = StoredLimits(store)
        #expect(try await limits.failures(now: 0, limit: 9).map(\.key) == ["a"])
        #expect(try await limits.knows(device: "d", now: 0))
        #expect(try await limits.counts(now: 0, limit: 9).map(\.count) == [7])
        #expect(try await StoredOutbox(store).count() == 1)
    }

    @Test("What they hold is taken over at the first start, and they are gone")
    func takeOver() async throws {
        let fixture = try await Self.fixture()
        defer { fixture.remove() }
        let store = try await GatewayStore.openToServe(in: fixture.directory)
        try await Self.expectAll(in: store)
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(files.filter { $0.hasPrefix("sessions") || $0.hasPrefix("conduct") } == [])
        try store.close()
        try await Self.expectAll(in: try await GatewayStore.openToServe(in: fixture.directory))
    }

    @Test("A start that ended before they were gone is done over, and nothing is there twice or older")
    func interrupted() async throws {
        let fixture = try await Self.fixture()
        defer { fixture.remove() }
        let copies = fixture.directory + "-copies"
        defer { try? FileManager.default.removeItem(atPath: copies) }
        try FileManager.default.copyItem(atPath: fixture.directory, toPath: copies)
        try await GatewayStore.openToServe(in: fixture.directory).close()
        for file in ["sessions.sqlite", "conduct.sqlite"] {
            try FileManager.default.copyItem(atPath: "\(copies)/\(file)", toPath: "\(fixture.directory)/\(file)")
        }
        try await Self.expectAll(in: try await GatewayStore.openToServe(in: fixture.directory))
    }

    @Test("What a killed process left in the log of writes is taken over as well")
    func unfinishedLog() async throws {
        let fixture = try await Self.fixture()
        defer { fixture.remove() }
        let path = fixture.directory + "/sessions.sqlite"
        let running = try Store(path: path, migrations: StoredSessions.migrations)
        try await StoredSessions(running).begin(StoreFixture.session(2))
        // As a kill leaves them: with what is in the log only, and without anyone who has it open.
        let killed = fixture.directory + "-killed"
        defer { try? FileManager.default.removeItem(atPath: killed) }
        try withExtendedLifetime(running) {
            try FileManager.default.copyItem(atPath: fixture.directory, toPath: killed)
        }
        #expect(FileManager.default.fileExists(atPath: killed + "/sessions.sqlite-wal"))
        let store = try await GatewayStore.openToServe(in: killed)
        #expect(try await StoredSessions(store).session([2]) == StoreFixture.session(2))
    }

    @Test("One that is damaged, or by a newer version, stops the start and stays as it is", arguments: [true, false])
    func unusable(isDamaged: Bool) async throws {
        let fixture = try await Self.fixture()
        defer { fixture.remove() }
        let path = fixture.directory + "/sessions.sqlite"
        if isDamaged {
            try? FileManager.default.removeItem(atPath: path + "-wal")
            try Data("no database at all, but long enough to look at".utf8).write(to: URL(fileURLWithPath: path))
        } else {
            try await DatabaseQueue(path: path).write {
                try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('sessions-9')")
            }
        }
        let fault = try await #require(throws: WiringFault.self) {
            try await GatewayStore.openToServe(in: fixture.directory)
        }
        #expect(fault.description.contains("sessions.sqlite: cannot be taken over"))
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
