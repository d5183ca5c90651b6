import Cryptography
import Encoding
import Foundation
import GRDB
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Backups of the database")
struct StoreCopiesTests {
    let fixture = StoreFixture()

    var copies: StoreCopies { StoreCopies(stateDirectory: fixture.directory) }
    var backup: String { fixture.directory + "/backup" }

    func sealingKey() throws -> String? {
        try KeyRingFile(.sealing, stateDirectory: fixture.directory).read()?.current?.id
    }

    @Test("A backup is one whole file of one moment, made while others write")
    func online() async throws {
        defer { fixture.remove() }
        let store = try fixture.open()
        let sessions = StoredSessions(store)
        try await sessions.begin(StoreFixture.session(1))
        let writing = Task {
            for name in UInt8(2)...200 { try await sessions.begin(StoreFixture.session(name)) }
        }
        let text = try copies.backUp(to: backup, withKeys: false)
        try await writing.value
        #expect(text.contains("without keys"))
        #expect(try FileMode.of(backup) == 0o600)
        #expect(!FileManager.default.fileExists(atPath: backup + "-wal"))
        let copy = try Store(reading: backup)
        #expect(await copy.report(GatewayStore.migrations).isGood)
        let rows = try await copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sessions") ?? 0 }
        #expect((1...200).contains(rows))
        #expect(throws: StartupError.self) { try copies.backUp(to: backup, withKeys: false) }
        #expect(try await StoredSessions(store).session([200]) != nil)
    }

    @Test("A restore brings back what was backed up, and keeps what was there")
    func restore() async throws {
        defer { fixture.remove() }
        do {
            let store = try fixture.open()
            try await StoredRevocations(store).keep([StoreFixture.revocation("before")])
            _ = try copies.backUp(to: backup, withKeys: false)
            try await StoredRevocations(store).keep([StoreFixture.revocation("after")])
        }
        let text = try await copies.restore(from: backup, withKeys: false, now: 7)
        #expect(text.contains("gatehouse.sqlite.replaced-7"))
        let restored = try fixture.open()
        #expect(try await StoredRevocations(restored).all(now: 0).map(\.value) == ["before"])
        let kept = try Store(reading: fixture.path + ".replaced-7")
        #expect(try await StoredRevocations(kept).all(now: 0).map(\.value) == ["after", "before"])
        #expect(try FileMode.of(fixture.path) == 0o600)
    }

    @Test("Two restores in one second both keep what was there")
    func restoreTwice() async throws {
        defer { fixture.remove() }
        func keep(_ value: String) async throws {
            try await StoredRevocations(try fixture.open()).keep([StoreFixture.revocation(value)])
        }
        try await keep("before")
        _ = try copies.backUp(to: backup, withKeys: false)
        try await keep("first")
        _ = try await copies.restore(from: backup, withKeys: false, now: 7)
        try await keep("second")
        let text = try await copies.restore(from: backup, withKeys: false, now: 7)
        #expect(text.contains("gatehouse.sqlite.replaced-7-1"))
        for (name, value) in [("7", "first"), ("7-1", "second")] {
            let kept = try Store(path: "\(fixture.path).replaced-\(name)", migrations: GatewayStore.migrations)
            #expect(try await StoredRevocations(kept).all(now: 0).map(\.value) == ["before", value])
        }
    }

    @Test("What was written last is kept too when the process before was killed")
    func restoreAfterKill() async throws {
        defer { fixture.remove() }
        let store = try fixture.open()
        _ = try copies.backUp(to: backup, withKeys: false)
        try await StoredRevocations(store).keep([StoreFixture.revocation("in the log")])
        let killed = StoreFixture()
        defer { killed.remove() }
        // The last of an open database to go empties the log and removes it: it is to be there until all is copied.
        try withExtendedLifetime(store) {
            try FileManager.default.copyItem(atPath: fixture.directory, toPath: killed.directory)
        }
        _ = try await StoreCopies(stateDirectory: killed.directory).restore(from: backup, withKeys: false, now: 7)
        #expect(try await StoredRevocations(try killed.open()).all(now: 0) == [])
        let kept = try Store(path: killed.path + ".replaced-7", migrations: GatewayStore.migrations)
        #expect(try await StoredRevocations(kept).all(now: 0).map(\.value) == ["in the log"])
    }

    @Test("Nothing is restored, nor backed up to, under a gateway that runs; nothing runs while it is restored")
    func inUse() async throws {
        defer { fixture.remove() }
        let store = try fixture.open()
        _ = try copies.backUp(to: backup, withKeys: false)
        let error = try await #require(throws: StartupError.self) {
            try await copies.restore(from: backup, withKeys: false)
        }
        #expect(error.description.contains("is in use: stop the gateway first"))
        try await StoredSessions(store).begin(StoreFixture.session(1))
        let other = StoreFixture()
        defer { other.remove() }
        let alone = try StateDirectoryLock(other.directory, .alone)
        let refused = try #require(throws: StartupError.self) { try other.open() }
        #expect(refused.description.contains("a backup is being restored"))
        withExtendedLifetime(alone) {}
    }

    @Test("A refused lock closes its descriptor once, so that no other file is closed in its place")
    func refusedLock() async throws {
        defer { fixture.remove() }
        let directory = fixture.directory
        let alone = try StateDirectoryLock(directory, .alone)
        let hasEnded = Atomic(false)
        // A second close would be of a file that this task has opened in the meantime.
        async let lostFiles = Task.detached {
            var lost = 0
            while !hasEnded.load(ordering: .relaxed) {
                let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
                if close(descriptor) != 0 { lost += 1 }
            }
            return lost
        }.value
        for _ in 0..<5000 { #expect(throws: StartupError.self) { try StateDirectoryLock(directory, .inUse) } }
        hasEnded.store(true, ordering: .relaxed)
        #expect(await lostFiles == 0)
        withExtendedLifetime(alone) {}
    }

    @Test("With the keys, a restore on an empty directory is all that it takes")
    func keys() async throws {
        defer { fixture.remove() }
        _ = try fixture.open()
        _ = try await KeyRingFile(.sealing, stateDirectory: fixture.directory).readOrMake(now: 1)
        let key = try sealingKey()
        #expect(try copies.backUp(to: backup, withKeys: true).contains("sealing-keys.json"))
        let other = StoreFixture()
        defer { other.remove() }
        let copies = StoreCopies(stateDirectory: other.directory)
        _ = try await copies.restore(from: backup, withKeys: true, now: 7)
        #expect(try KeyRingFile(.sealing, stateDirectory: other.directory).read()?.current?.id == key)
        #expect(try await other.open().read { try $0.tableExists(Store.fileTable) } == false)
    }

    @Test(
        "The keys that are there stay, or are kept when those of the backup take their place", arguments: [true, false])
    func otherKeys(withKeys: Bool) async throws {
        defer { fixture.remove() }
        try fixture.open().close()
        let file = KeyRingFile(.sealing, stateDirectory: fixture.directory)
        let first = try await file.readOrMake(now: 1).current?.id
        _ = try copies.backUp(to: backup, withKeys: true)
        try FileManager.default.removeItem(atPath: file.path)
        let second = try await file.readOrMake(now: 1).current?.id
        #expect(first != second)
        _ = try await copies.restore(from: backup, withKeys: withKeys, now: 7)
        #expect(try sealingKey() == (withKeys ? first : second))
        #expect(FileManager.default.fileExists(atPath: file.path + ".replaced-7") == withKeys)
    }

    @Test("A backup that is damaged, newer, missing or without the keys asked for changes nothing")
    func refused() async throws {
        defer { fixture.remove() }
        do {
            let store = try fixture.open()
            try await StoredRevocations(store).keep([StoreFixture.revocation("mine")])
            _ = try copies.backUp(to: backup, withKeys: false)
        }
        try FileManager.default.copyItem(atPath: backup, toPath: backup + "-newer")
        try await DatabaseQueue(path: backup + "-newer").write {
            try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('x-9')")
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
        let root = try await DatabaseQueue(path: backup).read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'revocations'") ?? 0
        }
        bytes.replaceSubrange((root - 1) * 4096..<(root - 1) * 4096 + 64, with: Data(count: 64))
        try bytes.write(to: URL(fileURLWithPath: backup + "-damaged"))
        for (file, withKeys) in [("-newer", false), ("-damaged", false), ("-missing", false), ("", true)] {
            await #expect(throws: StartupError.self, "\(file)") {
                try await copies.restore(from: backup + file, withKeys: withKeys)
            }
        }
        #expect(try await StoredRevocations(try fixture.open()).all(now: 0).map(\.value) == ["mine"])
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(!files.contains { $0.contains("restoring") || $0.contains("replaced") })
        #expect(try await !copies.check(backup + "-damaged").isGood)
    }

    @Test("A look at a database tells what it holds, and rows that refer to none")
    func check() async throws {
        defer { fixture.remove() }
        try await StoredRevocations(try fixture.open()).keep([StoreFixture.revocation("r")])
        let report = try await copies.check(nil)
        #expect(report.isGood && report.schema == .current)
        #expect(report.rows.contains { $0 == ("revocations", 1) })
        try await DatabaseQueue(path: fixture.path).writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    PRAGMA foreign_keys = OFF; INSERT INTO apple_tokens VALUES ('nobody', 'c', x'00', 1, 1);
                    DELETE FROM grdb_migrations WHERE identifier = 'users-1'
                    """)
        }
        let bad = try await copies.check(nil)
        #expect(bad.errors == ["a row of apple_tokens refers to none of users"])
        #expect(bad.schema == .older(missing: ["users-1"]))
        await #expect(throws: StartupError.self) { try await copies.check(fixture.directory + "/none") }
    }
}
