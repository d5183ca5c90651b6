import Cryptography
import Foundation
import Pipeline
import Store
import Testing

@testable import SignIn

@Suite("Session records")
struct SessionRecordsTests {
    private static let now = Fixture.now

    private static func record(
        _ family: UInt8 = 1, generation: Int64 = 0, subject: String = "ada", origin: String? = nil,
        answer: [UInt8]? = nil, at time: Int64 = now, endsAt: Int64 = now + 1000
    ) -> SessionRecord {
        SessionRecord(
            family: [UInt8](repeating: family, count: 16), poolID: "pool", subject: subject,
            originID: origin ?? "origin-\(family)", deviceID: "d", platform: "ios", generation: generation,
            token: [UInt8(generation)], answer: answer, signedInAt: now, refreshedAt: time, endsAt: endsAt)
    }

    @Test("What is kept is found as it was")
    func roundTrip() async throws {
        let records = try Fixture.records()
        var record = Self.record(answer: [1, 2, 3])
        record.answerMayBeLost = true
        record.endedAt = 7
        try await records.begin(record)
        #expect(try await records.session(record.family) == record)
        #expect(try await records.session([UInt8](repeating: 9, count: 16)) == nil)
        #expect(try await records.all(subject: "ada", poolID: "pool") == [record])
        #expect(try await records.all(subject: "ada", poolID: "other").isEmpty)
    }

    @Test("Of many who take one step, one takes it and the others see by whom")
    func oneStep() async throws {
        let records = try Fixture.records()
        try await records.begin(Self.record())
        let steps = try await withThrowingTaskGroup(of: SessionStep.self) { group in
            for number in 0..<50 {
                group.addTask {
                    var record = Self.record(generation: 1, answer: [UInt8(number)])
                    record.token = [UInt8(number)]
                    return try await records.advance(to: record)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(steps.count { $0 == .taken } == 1)
        let kept = try #require(try await records.session(Self.record().family))
        #expect(steps.filter { $0 != .taken } == Array(repeating: .overtaken(kept), count: 49))
    }

    @Test("A session that is not there, or fell behind, is brought to where its token is")
    func unknown() async throws {
        let records = try Fixture.records()
        #expect(try await records.advance(to: Self.record(generation: 4)) == .taken)
        #expect(try await records.advance(to: Self.record(generation: 9)) == .taken)
        #expect(try await records.session(Self.record().family)?.generation == 9)
    }

    @Test("A session that was ended goes no further, and gives no answer once more")
    func ended() async throws {
        let records = try Fixture.records()
        try await records.begin(Self.record(answer: [1]))
        let ended = try await records.end(
            family: Self.record().family, originIDs: [], poolID: "pool", at: Self.now + 5)
        #expect(ended.map(\.family) == [Self.record().family])
        guard case .overtaken(let kept) = try await records.advance(to: Self.record(generation: 1)) else {
            return #expect(Bool(false))
        }
        #expect(kept.endedAt == Self.now + 5)
        #expect(kept.answer == nil)
        #expect(kept.token.isEmpty)
        #expect(ended.map(\.token) == [[0]], "whoever ended it has it still")
        let again = try await records.end(family: kept.family, originIDs: [], poolID: "pool", at: Self.now + 9)
        #expect(again.isEmpty, "it ended once")
    }

    @Test("Sessions end by family, by origin, or all of a user's, and those of other pools and users go on")
    func whichEnd() async throws {
        let records = try Fixture.records()
        for family in 1...4 as ClosedRange<UInt8> { try await records.begin(Self.record(family)) }
        try await records.begin(Self.record(5, subject: "ben"))
        let some = try await records.end(
            family: Self.record(1).family, originIDs: ["origin-2", "unknown"], poolID: "pool", at: Self.now)
        #expect(Set(some.map { $0.family[0] }) == [1, 2])
        #expect(try await records.endAll(subject: "ada", poolID: "other", at: Self.now).isEmpty)
        #expect(try await records.endAll(subject: "ada", poolID: "pool", at: Self.now).map { $0.family[0] } == [3, 4])
        #expect(try await records.session(Self.record(5).family)?.endedAt == nil)
        try await records.forget(subject: "ada", poolID: "pool")
        #expect(try await records.all(subject: "ada", poolID: "pool").isEmpty)
        #expect(try await records.all(subject: "ben", poolID: "pool").count == 1)
    }

    @Test("With each write some of what is over is forgotten: sessions past their end, answers past their window")
    func tidied() async throws {
        let records = try Fixture.records()
        try await records.begin(Self.record(1, answer: [1], endsAt: Self.now + 50))
        try await records.begin(Self.record(2, answer: [2], at: Self.now + 30))
        try await records.begin(Self.record(3, at: Self.now + 61))
        #expect(try await records.session(Self.record(1).family) == nil)
        #expect(try await records.session(Self.record(2).family)?.answer == [2])
        try await records.begin(Self.record(4, at: Self.now + 91))
        #expect(try await records.session(Self.record(2).family)?.answer == nil)
    }

    @Test("At a start the newest answers may have been lost; before and after, none is")
    func start() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "gatehouse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "sessions.sqlite").path
        let records = try StoredSessions(Store(path: path, migrations: StoredSessions.migrations), isStart: true)
        try await records.begin(Self.record(1, answer: [1], at: Self.now))
        try await records.begin(Self.record(2, answer: [2], at: Self.now + 50))
        try await records.begin(Self.record(3, answer: [3], at: Self.now + 55))
        let again = try StoredSessions(Store(path: path, migrations: StoredSessions.migrations), isStart: true)
        for (family, mayBeLost) in [(1, false), (2, true), (3, true)] as [(UInt8, Bool)] {
            #expect(try await again.session(Self.record(family).family)?.answerMayBeLost == mayBeLost)
        }
        // Kept past the window, until the session goes on.
        try await again.begin(Self.record(4, at: Self.now + 500))
        #expect(try await again.session(Self.record(3).family)?.answer == [3])
        #expect(try await again.advance(to: Self.record(3, generation: 1, at: Self.now + 500)) == .taken)
        #expect(try await again.session(Self.record(3).family)?.answerMayBeLost == false)
    }
}
