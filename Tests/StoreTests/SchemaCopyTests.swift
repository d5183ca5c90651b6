import Foundation
import GRDB
import TestSupport
import Testing

@testable import Store

@Suite("The copy of a database before its schema changes")
struct SchemaCopyTests {
    private static let steps = ["one", "two", "three", "four"].map { name in
        Store.Migration(name: name, sql: "CREATE TABLE \(name) (value TEXT)")
    }

    private let fixture = StoreFixture()

    /// A database as the version with so many steps opens it.
    private func open(_ count: Int) throws -> Store {
        try Store(path: fixture.path, migrations: Array(Self.steps.prefix(count)))
    }

    private func write(_ value: String, _ store: Store) throws {
        try store.writeBlocking { try $0.execute(sql: "INSERT INTO one VALUES (?)", arguments: [value]) }
    }

    private func values(_ store: Store) throws -> [String] {
        try store.readBlocking { try String.fetchAll($0, sql: "SELECT value FROM one ORDER BY value") }
    }

    /// As a restore does: the log of writes goes with the database that it belongs to, and both stay under another name.
    private func goBack(to copy: String) throws {
        for end in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: fixture.path + end) {
            try FileManager.default.moveItem(atPath: fixture.path + end, toPath: fixture.path + ".replaced" + end)
        }
        try FileManager.default.copyItem(atPath: copy, toPath: fixture.path)
    }

    private var copies: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
                .filter { $0.hasPrefix("gatehouse.sqlite.schema-") }.sorted()
        }
    }

    @Test("None is made of a new database, nor while the schema stays")
    func none() throws {
        defer { fixture.remove() }
        for _ in 0..<2 {
            let store = try open(2)
            #expect(store.copyOfOlderSchema == nil)
            try store.close()
        }
        #expect(try copies == [])
    }

    @Test("It holds what was there, for its owner only, and the version before goes on with it")
    func copy() throws {
        defer { fixture.remove() }
        let old = try open(1)
        try write("before", old)
        try old.close()
        let new = try open(2)
        try write("after", new)
        let copy = fixture.path + ".schema-1"
        #expect(new.copyOfOlderSchema == copy)
        #expect(try copies == ["gatehouse.sqlite.schema-1"])
        #expect(try FileMode.of(copy) == 0o600)
        try new.close()
        let error = try #require(throws: StoreError.self) { try open(1) }
        #expect(error == .newerSchema(["two"], copy: copy))
        #expect(error.description.contains("restore the copy from before: gatehouse store restore \(copy)"))
        try goBack(to: copy)
        #expect(try values(try open(1)) == ["before"])
    }

    @Test("The newest and one before are kept; what another version is to go on with is named")
    func kept() throws {
        defer { fixture.remove() }
        for count in 1...4 { try open(count).close() }
        #expect(try copies == ["gatehouse.sqlite.schema-2", "gatehouse.sqlite.schema-3"])
        for (count, copy) in [(3, "3"), (2, "2")] {
            let error = try #require(throws: StoreError.self) { try open(count) }
            #expect(error.description.hasSuffix("gatehouse store restore \(fixture.path).schema-\(copy)"))
        }
        let error = try #require(throws: StoreError.self) { try open(1) }
        #expect(error == .newerSchema(["four", "three", "two"]))
        #expect(error.description.hasSuffix("or restore a backup from before"))
    }

    @Test("After going back, a copy of the version that was given up is not mistaken for one to go back to")
    func givenUp() throws {
        defer { fixture.remove() }
        for count in 1...3 { try open(count).close() }
        try goBack(to: fixture.path + ".schema-1")
        let old = try open(1)
        try write("later", old)
        try old.close()
        try open(3).close()
        #expect(try copies == ["gatehouse.sqlite.schema-1"])
        #expect(try values(try Store(reading: fixture.path + ".schema-1")) == ["later"])
    }

    @Test("Files of an operator's beside the copies stay")
    func others() throws {
        defer { fixture.remove() }
        let names = ["1.good", "1.partial.gz", "+1", "01", "old"].map { "gatehouse.sqlite.schema-\($0)" }
        let directory = URL(filePath: fixture.path).deletingLastPathComponent()
        try open(1).close()
        for name in names { try Data("kept".utf8).write(to: directory.appending(path: name)) }
        for count in 2...4 { try open(count).close() }
        for name in names { #expect(try Data(contentsOf: directory.appending(path: name)) == Data("kept".utf8)) }
    }

    @Test("What a killed process has left is replaced")
    func leftOver() throws {
        defer { fixture.remove() }
        try open(1).close()
        let partial = fixture.path + ".schema-1.partial"
        for path in [partial, partial + "-journal"] { try Data("half".utf8).write(to: URL(filePath: path)) }
        try open(2).close()
        #expect(try copies == ["gatehouse.sqlite.schema-1"])
    }

    /// A change to four steps of which one fails.
    private func stop(at failing: Int) throws {
        var steps = Self.steps
        steps[failing] = Store.Migration(name: steps[failing].name, sql: "stopped")
        let error = try #require(throws: StoreError.self) { try Store(path: fixture.path, migrations: steps) }
        #expect(error.description.hasPrefix("its schema cannot be changed: SQLite error 1: near \"stopped\""))
        #expect(error.description.hasSuffix("gatehouse store restore \(fixture.path).schema-1"))
    }

    @Test("An error whose words SQLite has forgotten is named by its number")
    func words() {
        let error = DatabaseError(resultCode: .SQLITE_FULL, message: "not an error")
        #expect(StoreError.words(error) == "SQLite error 13: database or disk is full")
    }

    @Test("A change that is stopped twice ends with the copy from before it")
    func stoppedTwice() throws {
        defer { fixture.remove() }
        let old = try open(1)
        try write("before", old)
        try old.close()
        for step in 2...3 { try stop(at: step) }
        let new = try open(4)
        let copy = fixture.path + ".schema-1"
        #expect(new.copyOfOlderSchema == copy)
        #expect(try copies == ["gatehouse.sqlite.schema-1"])
        #expect(try values(try Store(reading: copy)) == ["before"])
        try new.close()
        #expect(try open(4).copyOfOlderSchema == nil)
    }

    @Test("A version that has gone on where a change was stopped gets a copy of its own at the next one")
    func stoppedAndUsed() throws {
        defer { fixture.remove() }
        try open(1).close()
        try stop(at: 2)
        let between = try open(2)
        try write("between", between)
        try between.close()
        #expect(try open(4).copyOfOlderSchema == fixture.path + ".schema-2")
        #expect(try values(try Store(reading: fixture.path + ".schema-2")) == ["between"])
    }

    @Test("A database that was restored while a change was stopped gets a copy of its own")
    func stoppedAndRestored() throws {
        defer { fixture.remove() }
        try open(1).close()
        try stop(at: 2)
        let other = StoreFixture()
        defer { other.remove() }
        let backup = try Store(path: other.path, migrations: Array(Self.steps.prefix(2)))
        try write("restored", backup)
        try backup.copy(to: other.path + ".backup") { nil }
        try backup.close()
        try goBack(to: other.path + ".backup")
        #expect(try open(4).copyOfOlderSchema == fixture.path + ".schema-2")
        #expect(try values(try Store(reading: fixture.path + ".schema-2")) == ["restored"])
    }

    @Test("Where it cannot be made, nothing has changed, and that is said")
    func impossible() throws {
        defer { fixture.remove() }
        try open(1).close()
        // A directory stands where the copy is to be.
        let copy = fixture.path + ".schema-1"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        let error = try #require(throws: StoreError.self) { try open(2) }
        #expect(error.description.contains(copy) && error.description.hasSuffix("Nothing has changed"))
        #expect(try open(1).copyOfOlderSchema == nil)
    }

    @Test("Of several that start at once one makes it")
    func atOnce() async throws {
        defer { fixture.remove() }
        let old = try open(1)
        try write("before", old)
        try old.close()
        let made = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 { group.addTask { try open(2).copyOfOlderSchema } }
            return try await group.reduce(into: [String]()) { made, copy in if let copy { made.append(copy) } }
        }
        #expect(made == [fixture.path + ".schema-1"])
        #expect(try copies == ["gatehouse.sqlite.schema-1"])
        #expect(try values(try Store(reading: made[0])) == ["before"])
    }
}
