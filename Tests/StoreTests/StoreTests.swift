import ClockSteps
import Encoding
import Foundation
import GRDB
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Store

/// The gateway's database in a directory of the test's own.
struct StoreFixture {
    let directory = NSTemporaryDirectory() + "gatehouse-store-" + UUID().uuidString

    var path: String { directory + "/gatehouse.sqlite" }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }

    func open() throws -> Store { try GatewayStore.open(in: directory) }

    static func revocation(_ value: String, endsAt: Int64 = 4_000_000_000) -> RevocationRecord {
        RevocationRecord(issuer: "i", claim: "jti", value: value, endsAt: endsAt)
    }

    static func session(_ name: UInt8, endsAt: Int64 = 4_000_000_000) -> SessionRecord {
        SessionRecord(
            family: [name], poolID: "p", subject: "ada", originID: nil, deviceID: nil, platform: nil, generation: 1,
            token: [name, 1], signedInAt: 1, refreshedAt: 1000, endsAt: endsAt)
    }

    static func message(_ key: String, createdAt: Int64 = 1) -> OutboxMessage {
        OutboxMessage(key: key, destination: "d", kind: "k", body: "{}", createdAt: createdAt)
    }
}

extension SessionRecords {
    /// Keeps a new session that is given for no authorization code.
    func begin(_ record: SessionRecord) async throws { _ = try await begin(record, redeeming: nil) }
}

@Suite("The gateway's database")
struct StoreTests {
    @Test("Everything is in one file, that only its owner may read, and there again after it was closed")
    func oneFile() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try fixture.open()
        try await StoredRevocations(store).keep([StoreFixture.revocation("r")])
        try await StoredSessions(store).begin(StoreFixture.session(1))
        _ = try await StoredOutbox(store).add(StoreFixture.message("m"))
        try store.close()
        #expect(try FileMode.of(fixture.path) == 0o600)
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(files.allSatisfy { $0.hasPrefix("gatehouse.sqlite") })
        let again = try fixture.open()
        #expect(try await StoredRevocations(again).all(now: 0) == [StoreFixture.revocation("r")])
        #expect(try await StoredSessions(again).session([1]) == StoreFixture.session(1))
        #expect(try await StoredOutbox(again).count() == 1)
    }

    /// A disk that takes its time, and says how often it was asked.
    final class Disk: Sendable {
        struct Fault: Error {}
        private struct State {
            var asked: [String] = []
            var fails = false
        }
        private let state = Mutex(State())
        let isAsked = DispatchSemaphore(value: 0)
        let mayGoOn = DispatchSemaphore(value: 0)
        var asked: [String] { state.withLock { $0.asked } }

        func fail(_ fails: Bool) { state.withLock { $0.fails = fails } }

        /// Waits to be let on.
        func sync(_ path: String) throws {
            let fails = state.withLock { state in
                state.asked.append(path)
                return state.fails
            }
            isAsked.signal()
            mayGoOn.wait()
            if fails { throw Fault() }
        }
    }

    private struct Failure: Error {}

    private static func insert(_ key: String) -> @Sendable (Database) throws -> Void {
        { try $0.execute(sql: "INSERT INTO known_devices (key, ends_at) VALUES (?, 9)", arguments: [key]) }
    }

    private static func count(_ store: Store) async throws -> Int? {
        try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM known_devices") }
    }

    @Test("What must outlast a loss of power waits for the disk; others go on, and those that come meanwhile share")
    func disk() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        let store = try Store(
            path: fixture.path, migrations: StoredLimits.migrations, response: .seconds(600)
        ) { try disk.sync($0) }
        try await store.write(Self.insert("a"))
        #expect(disk.asked == [])
        async let first: Void = store.write(outlasting: .powerLoss, Self.insert("b"))
        await Self.wait(for: disk.isAsked)
        // It is committed, the disk is at work, and nobody else has to wait for that.
        try await store.write(Self.insert("c"))
        #expect(try await Self.count(store) == 3)
        async let second: Void = store.write(outlasting: .powerLoss, Self.insert("d"))
        async let third: Void = store.write(outlasting: .powerLoss, Self.insert("e"))
        while try await Self.count(store) != 5 { await Task.yield() }
        disk.mayGoOn.signal()
        try await first
        // Writes committed after the disk had begun take another turn.
        await Self.wait(for: disk.isAsked)
        disk.mayGoOn.signal()
        disk.mayGoOn.signal()
        _ = try await (second, third)
        #expect((2...3).contains(disk.asked.count) && Set(disk.asked) == [fixture.path + "-wal"])
    }

    @Test("A disk that fails is told of, the next write asks it anew, and what failed by itself never asks it")
    func diskFails() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        let store = try Store(path: fixture.path, migrations: StoredLimits.migrations) { try disk.sync($0) }
        await #expect(throws: Failure.self) {
            try await store.write(outlasting: .powerLoss) { _ in throw Failure() }
        }
        #expect(disk.asked == [])
        for fails in [true, false] {
            disk.fail(fails)
            disk.mayGoOn.signal()
            do {
                try await store.write(outlasting: .powerLoss, Self.insert("\(fails)"))
                #expect(!fails)
            } catch {
                #expect(fails && error is Disk.Fault)
            }
        }
        // The system may have lost what the disk has not taken: a log that begins with it counts no further.
        let log = try FileManager.default.attributesOfItem(atPath: fixture.path + "-wal")
        #expect(log[.size] as? Int == 0)
        #expect(try await Self.count(store) == 2)
    }

    @Test("Where the disk fails while a write waits for its own turn, that turn alone is not enough")
    func diskFailsBefore() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        let store = try Store(
            path: fixture.path, migrations: StoredLimits.migrations, response: .seconds(600)
        ) { try disk.sync($0) }
        disk.fail(true)
        let first = Task { try await store.write(outlasting: .powerLoss, Self.insert("first")) }
        await Self.wait(for: disk.isAsked)
        disk.fail(false)
        let second = Task { try await store.write(outlasting: .powerLoss, Self.insert("second")) }
        while try await Self.count(store) != 2 { await Task.yield() }
        for _ in 0..<3 { disk.mayGoOn.signal() }
        await #expect(throws: Disk.Fault.self) { try await first.value }
        try await second.value
        let log = try FileManager.default.attributesOfItem(atPath: fixture.path + "-wal")
        #expect(log[.size] as? Int == 0)
    }

    @Test("After a failure of the disk, a long reader keeps no write waiting but those that must outlast power")
    func readerAfterFailure() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        let store = try Store(
            path: fixture.path, migrations: StoredLimits.migrations, response: .seconds(600)
        ) { try disk.sync($0) }
        disk.fail(true)
        disk.mayGoOn.signal()
        await #expect(throws: Disk.Fault.self) {
            try await store.write(outlasting: .powerLoss, Self.insert("lost"))
        }
        disk.fail(false)
        let (reads, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reader = Task {
            try await store.read { database in
                let found = try Int.fetchOne(database, sql: "SELECT count(*) FROM known_devices")
                reads.signal()
                mayEnd.wait()
                return found
            }
        }
        await Self.wait(for: reads)
        try await store.write(Self.insert("plain"))
        let error = await #expect(throws: DatabaseError.self) {
            try await store.write(outlasting: .powerLoss, Self.insert("durable"))
        }
        #expect(error?.resultCode == .SQLITE_BUSY)
        try await store.write(Self.insert("plain too"))
        mayEnd.signal()
        #expect(try await reader.value == 1)
        disk.mayGoOn.signal()
        try await store.write(outlasting: .powerLoss, Self.insert("durable too"))
        #expect(try await Self.count(store) == 5)
    }

    @Test("A disk that does not respond holds nobody, and is asked again when it has responded")
    func diskStalls() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        let store = try Store(
            path: fixture.path, migrations: StoredLimits.migrations, response: .milliseconds(50)
        ) {
            try disk.sync($0)
            // Once it responds, it does so to everybody.
            disk.mayGoOn.signal()
        }
        let first = Task { try await store.write(outlasting: .powerLoss, Self.insert("a")) }
        let second = Task { try await store.write(outlasting: .powerLoss, Self.insert("b")) }
        for write in [first, second] { await #expect(throws: StoreError.noResponse) { try await write.value } }
        #expect(store.writeError == "the disk does not respond")
        await #expect(throws: StoreError.noResponse) {
            try await store.write(outlasting: .powerLoss, Self.insert("c"))
        }
        await Self.wait(for: disk.isAsked)
        await store.tryWriting()
        #expect(store.writeError != nil && disk.asked.count == 1)
        try await store.write(Self.insert("d"))
        #expect(try await Self.count(store) == 4, "all of it is committed")
        disk.mayGoOn.signal()
        while store.writeError != nil { await store.tryWriting() }
        #expect(disk.asked.count > 1)
    }

    @Test("A database whose file was removed or replaced cannot be written, until the file is there again")
    func fileIsGone() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try Store(path: fixture.path, migrations: StoredLimits.migrations)
        await store.tryWriting()
        #expect(store.writeError == nil)
        let away = fixture.path + ".away"
        try FileManager.default.moveItem(atPath: fixture.path, toPath: away)
        await store.tryWriting()
        #expect(store.writeError == StoreError.fileIsGone.description)
        _ = FileManager.default.createFile(atPath: fixture.path, contents: nil)
        await store.tryWriting()
        #expect(store.writeError == StoreError.fileIsGone.description)
        try FileManager.default.removeItem(atPath: fixture.path)
        try FileManager.default.moveItem(atPath: away, toPath: fixture.path)
        await store.tryWriting()
        #expect(store.writeError == nil)
    }

    @Test("The log of a database is there to be had on the disk; of what is not there that is said")
    func log() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        try await fixture.open().write(outlasting: .powerLoss, Self.insert("a"))
        #expect(throws: (any Error).self) { try LogSync.sync(fileAt: fixture.path + "-none") }
    }

    /// Off the threads on which tasks run.
    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test("A database by a newer version is refused, and says so; it stays as it is")
    func newer() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try fixture.open()
        try await store.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('sessions-9')") }
        try store.close()
        let error = try #require(throws: StartupError.self) { try fixture.open() }
        #expect(error.description.contains("written by a newer version of gatehouse, which knows sessions-9"))
        let report = await (try Store(reading: fixture.path)).report(GatewayStore.migrations)
        #expect(report.schema == .newer(unknown: ["sessions-9"]))
        #expect(!report.isGood)
    }

    @Test("What is no database is told with its path and without SQL")
    func noDatabase() throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        try FileManager.default.createDirectory(atPath: fixture.directory, withIntermediateDirectories: true)
        try Data("this is no database, however long it is".utf8).write(to: URL(filePath: fixture.path))
        try FileMode.set(0o600, fixture.path)
        let error = try #require(throws: StartupError.self) { try fixture.open() }
        let words = "\(fixture.path): cannot be opened: it is not a SQLite database, or it is damaged"
        #expect(error.description.hasPrefix(words))
        #expect(!error.description.contains("SELECT") && !error.description.contains("PRAGMA"))
    }

    @Test("Only what others write counts as their change")
    func foreignChanges() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let (store, other) = (try fixture.open(), try fixture.open())
        let first = try await store.foreignChanges()
        try await StoredSessions(store).begin(StoreFixture.session(1))
        #expect(try await store.foreignChanges() == first)
        try await StoredRevocations(other).keep([StoreFixture.revocation("r")])
        #expect(try await store.foreignChanges() != first)
    }

    // MARK: Trouble

    @Test("While another process holds the database writes fail and reads don't; then both go on")
    func locked() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        _ = try fixture.open()
        let store = try Store(path: fixture.path, migrations: GatewayStore.migrations, patience: 0.01)
        let sessions = StoredSessions(store)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let holder = try DatabaseQueue(path: fixture.path, configuration: configuration)
        try await holder.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await #expect(throws: DatabaseError.self) { try await sessions.begin(StoreFixture.session(1)) }
        #expect(try await sessions.session([1]) == nil)
        try await holder.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await sessions.begin(StoreFixture.session(1))
        #expect(try await sessions.session([1]) == StoreFixture.session(1))
    }

    @Test("What doesn't fit on the disk leaves nothing behind, and what fits later is written")
    func full() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try fixture.open()
        let sessions = StoredSessions(store)
        try await sessions.begin(StoreFixture.session(1))
        // As many pages as there are: SQLite then says what it says of a full disk.
        try await store.write { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        var large = StoreFixture.session(2)
        large.token = [UInt8](repeating: 7, count: 100_000)
        let (next, first) = (large, StoreFixture.session(1))
        let error = await #expect(throws: DatabaseError.self) {
            try await store.write { database in
                try database.execute(sql: "UPDATE sessions SET generation = 9")
                try database.execute(
                    sql: "INSERT INTO outbox VALUES ('k', 'd', 'k', NULL, ?, 1, 1, 0, 0)",
                    arguments: [String(repeating: "x", count: 100_000)])
            }
        }
        #expect(error?.resultCode == .SQLITE_FULL)
        await #expect(throws: DatabaseError.self) { try await sessions.begin(next) }
        #expect(try await sessions.session([1]) == first, "nothing of the transaction is there")
        #expect(try await sessions.session([2]) == nil)
        try await store.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
        try await sessions.begin(next)
        #expect(try await sessions.session([2]) == next)
        #expect(await store.report(GatewayStore.migrations).isGood)
    }

    @Test("A write that waited too long for those before it is refused, not done late; reads go on")
    func queueing() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        // No time at all, so that every write has waited too long.
        let store = try Store(path: fixture.path, migrations: GatewayStore.migrations, queueing: .zero)
        let sessions = StoredSessions(store)
        await #expect(throws: StoreError.waitedTooLong) { try await sessions.begin(StoreFixture.session(1)) }
        #expect(try await sessions.session([1]) == nil)
        try await StoredSessions(try fixture.open()).begin(StoreFixture.session(1))
        #expect(try await sessions.session([1]) == StoreFixture.session(1))
    }

    @Test("Behind a write that hangs no others gather, and nothing can be written until it has ended")
    func hangingWrite() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let disk = Disk()
        defer { disk.mayGoOn.signal() }
        let store = try Store(
            path: fixture.path, migrations: StoredLimits.migrations, queueing: .milliseconds(50))
        let hanging = Task { try await store.database.writeWithoutTransaction { _ in try disk.sync("") } }
        await Self.wait(for: disk.isAsked)
        let waiting = Task { try await store.write(Self.insert("a")) }
        let end = ContinuousClock.now + .seconds(30)
        while store.writeError == nil, ContinuousClock.now < end { await Task.yield() }
        try #require(store.writeError == "the disk does not respond")
        // It would wait for ever if it were not refused before its turn.
        let later = Task { try await store.write(Self.insert("b")) }
        await #expect(throws: StoreError.waitedTooLong) { try await later.value }
        disk.mayGoOn.signal()
        try await hanging.value
        await #expect(throws: StoreError.waitedTooLong) { try await waiting.value }
        #expect(store.writeError == nil)
        #expect(try await Self.count(store) == 0)
    }

    // MARK: Retention

    @Test("What has ended goes, in as many writes as it takes, and what lasts stays")
    func retention() async throws {
        let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
        let (revocations, limits, outbox) = (StoredRevocations(store), StoredLimits(store), StoredOutbox(store))
        let count = 1201
        try await revocations.keep((0..<count).map { StoreFixture.revocation("r\($0)", endsAt: 10) })
        try await revocations.keep([StoreFixture.revocation("lasting")])
        _ = try await limits.add((0..<count).map { CountRecord(key: "\($0)", window: 1, count: 1, endsAt: 10) })
        _ = try await limits.add([CountRecord(key: "lasting", window: 1, count: 1, endsAt: 99)])
        for number in 0..<count {
            _ = try await outbox.add(StoreFixture.message("\(number)", createdAt: Int64(number)))
        }
        let before = try await store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") ?? 0 }
        try await revocations.removeEnded(now: 10)
        try await limits.removeEnded(now: 10, limit: 100)
        #expect(try await revocations.all(now: 0) == [StoreFixture.revocation("lasting")])
        #expect(try await limits.counts(now: 0, limit: 9999).map(\.key) == ["lasting"])
        let removed = try await store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") ?? 0 } - before
        #expect(removed >= 2 * count)
        #expect(try await outbox.removeOlder(than: 0, now: 1_000_000).count == 500, "so many at a time")
        #expect(try await outbox.count() == count - 500)
    }

    @Test(
        "Where nothing is written, what has ended goes all the same, and tokens that nobody may ask for",
        arguments: ClockSteps.passing)
    func upkeep(steps: ClockSteps) async throws {
        let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
        let (sessions, users) = (StoredSessions(store), StoredUsers(store))
        for (name, ends, at) in [(1, 2000, 900), (2, 3000, 1939), (3, 3000, 1940)] as [(UInt8, Int64, Int64)] {
            var session = StoreFixture.session(name, endsAt: ends)
            (session.answer, session.refreshedAt) = ([1], at)
            try await sessions.begin(session)
            let own = UserSessionRecord(
                id: "\(name)", userID: "", successor: [1], authTime: 900, createdAt: 900, refreshedAt: at,
                expiresAt: ends, endsAt: ends)
            let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
            let nonce = UserSignIn.Spent(digest: [name, 2], endsAt: ends)
            let proof = UserSignIn.Proof(digest: [name], endsAt: ends, nonce: nonce)
            _ = try await users.signIn(UserSignIn(proof: proof, user: user, session: own))
        }
        // Nothing has ended at 1999, whatever the clock says for a while.
        let clock = ManualClock()
        clock.advance(1900 - ManualClock.start)
        try store.followPruningClock(now: 1900) { clock.uptime }
        clock.advance(99)
        #expect(store.pruningTime(clock.read()) == 1999)
        // A message of a clock that is days behind is not too old when the clock is right.
        let outbox = StoredOutbox(store)
        var message = StoreFixture.message("behind")
        message.createdAt = 1000
        #expect(try await outbox.add(message))
        #expect(try await outbox.removeOlder(than: 600_000, now: 1_999_000).isEmpty)
        let upkeep = StoreUpkeep(
            store.records, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { clock.read() })
        try await clock.take(steps) { try await upkeep.removeEnded() }
        for name in 1...3 as ClosedRange<UInt8> {
            #expect(try await sessions.session([name])?.answer == (name == 1 ? nil : [1]))
            #expect(try await users.session("\(name)")?.session.successor == [1] || name == 1)
            #expect(try await users.isSpent([name]))
        }
        clock.advance(1)
        try await upkeep.removeEnded()
        for name in 1...3 as ClosedRange<UInt8> {
            #expect(try await sessions.session([name])?.answer == [nil, nil, [1]][Int(name) - 1])
            #expect(try await (sessions.session([name]) == nil) == (name == 1))
            #expect(try await users.session("\(name)")?.session.successor == [nil, nil, [1]][Int(name) - 1])
            #expect(try await (users.session("\(name)") == nil) == (name == 1))
            #expect(try await users.isSpent([name]) == (name != 1))
        }
    }

    @Test("A table that cannot be tidied keeps no other from its turn, and is told of")
    func failingTable() async throws {
        let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
        let users = StoredUsers(store)
        let proof = UserSignIn.Proof(digest: [1], endsAt: 10, nonce: UserSignIn.Spent(digest: [2], endsAt: 10))
        let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
        let session = UserSessionRecord(
            id: "1", userID: "", authTime: 1, createdAt: 1, refreshedAt: 1, expiresAt: 10, endsAt: 10)
        _ = try await users.signIn(UserSignIn(proof: proof, user: user, session: session))
        try await store.write { try $0.execute(sql: "ALTER TABLE sessions RENAME TO others") }
        let upkeep = StoreUpkeep(
            store.records, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 2000 })
        await #expect(throws: DatabaseError.self) { try await upkeep.removeEnded() }
        #expect(try await users.session("1") == nil)
        #expect(try await !users.isSpent([1]))
    }

    @Test("A deletion waits for nobody who reads what is older, and upkeep empties the log afterwards")
    func deletionBesideReader() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let store = try Store(path: fixture.path, migrations: GatewayStore.migrations, patience: 120)
        let users = StoredUsers(store)
        let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
        let session = UserSessionRecord(
            id: "1", userID: "", authTime: 1, createdAt: 1, refreshedAt: 1, expiresAt: 9, endsAt: 9)
        _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
        let reader = try Store(reading: fixture.path)
        let (isReading, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        defer { mayEnd.signal() }
        let reading = Task {
            try await reader.read { database in
                _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM users")
                isReading.signal()
                mayEnd.wait()
            }
        }
        await Self.wait(for: isReading)
        let began = ContinuousClock.now
        #expect(try await users.delete("ada", handingOver: nil) == user)
        #expect(ContinuousClock.now - began < .seconds(60), "it waited for the reader")
        #expect(try await store.write { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 120_000)
        await store.tryWriting()
        #expect(store.writeError == nil)
        func logSize() throws -> Int { try Data(contentsOf: URL(filePath: fixture.path + "-wal")).count }
        #expect(try logSize() > 0)
        mayEnd.signal()
        try await reading.value
        try await users.removeEnded(now: 1)
        #expect(try logSize() == 0)
    }

    @Test("A database of before is brought up to date, and what may have been lost then is so no more")
    func migrated() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let before = try Store(
            path: fixture.path,
            migrations: [StoredUsers.migrations, StoredSessions.migrations].compactMap(\.first))
        try await before.write { database in
            try database.execute(
                sql: """
                    INSERT INTO users VALUES ('ada', 'i', 's', 'Ada', 'a@b.c', 1, 0, NULL, 'customer', 5, NULL);
                    INSERT INTO user_sessions VALUES ('1', 'ada', 1, x'01', 1, 5, NULL, NULL, 5, 6, 7, 8, 9, NULL);
                    INSERT INTO sessions VALUES (x'01', 'p', 'ada', NULL, NULL, NULL, 1, x'', x'01', 1, 5, 6, 9, NULL);
                    """)
        }
        try before.close()
        let store = try fixture.open()
        let known = try #require(try await StoredUsers(store).session("1"))
        #expect(known.user.emailAsOf == 0 && known.user.email == "a@b.c")
        #expect(known.session.retryUntil == 1 && known.session.successor == [1] && known.session.refreshedAt == 6)
        let session = try #require(try await StoredSessions(store).session([1]))
        #expect(session.retryUntil == 1 && session.answer == [1])
    }

    @Test("Each new session takes a few ended ones away, never many")
    func sessions() async throws {
        let store = try Store(path: ":memory:", migrations: GatewayStore.migrations)
        let sessions = StoredSessions(store)
        for name in 0..<20 { try await sessions.begin(StoreFixture.session(UInt8(name), endsAt: 2000)) }
        var late = StoreFixture.session(100)
        late.refreshedAt = 2000
        let rows: @Sendable (Database) throws -> Int? = { try Int.fetchOne($0, sql: "SELECT count(*) FROM sessions") }
        try await sessions.begin(late)
        #expect(try await store.read(rows) == 13)
        late.family = [101]
        try await sessions.begin(late)
        late.family = [102]
        try await sessions.begin(late)
        #expect(try await store.read(rows) == 3)
    }
}
