import ClockSteps
import Cryptography
import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Store

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
        record.retryUntil = Self.now + 9
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
        let withRecords = try #require(try await records.session(Self.record().family))
        #expect(steps.filter { $0 != .taken } == Array(repeating: .overtaken(withRecords), count: 49))
    }

    @Test("A session that is not there, or fell behind, is brought to where its token is")
    func unknown() async throws {
        let records = try Fixture.records()
        #expect(try await records.advance(to: Self.record(generation: 4)) == .taken)
        #expect(try await records.advance(to: Self.record(generation: 9)) == .taken)
        #expect(try await records.session(Self.record().family)?.generation == 9)
    }

    @Test("A session that was stored and is forgotten meanwhile is not stored again")
    func forgotten() async throws {
        let records = try Fixture.records()
        let (first, second) = (Self.record(), Self.record(generation: 1, answer: [1]))
        try await records.begin(first)
        #expect(try await records.advanceStored(to: second) == .taken)
        #expect(try await records.session(first.family) == second)
        #expect(try await records.advanceStored(to: Self.record(generation: 1)) == .overtaken(second))
        try await records.forget(subject: "ada", poolID: "pool")
        #expect(try await records.advanceStored(to: Self.record(generation: 2)) == .gone)
        #expect(try await records.renew(second, as: second) == .gone)
        #expect(try await records.session(first.family) == nil)
    }

    @Test("A token that is given again keeps its number, once for each reading")
    func renewed() async throws {
        let records = try Fixture.records()
        var known = Self.record(generation: 1, answer: [1])
        try await records.begin(known)
        var renewed = known
        (renewed.token, renewed.answer, renewed.refreshedAt) = ([7], [2], Self.now + 90)
        #expect(try await records.renew(known, as: renewed) == .taken)
        #expect(try await records.session(known.family) == renewed)
        var late = known
        (late.token, late.answer, late.refreshedAt) = ([8], [3], Self.now + 91)
        #expect(try await records.renew(known, as: late) == .overtaken(renewed), "somebody else was faster")
        // The same second, but another token.
        known.refreshedAt = renewed.refreshedAt
        #expect(try await records.renew(known, as: late) == .overtaken(renewed))
        let used = Self.record(generation: 2, answer: [4])
        #expect(try await records.advance(to: used) == .taken)
        #expect(try await records.renew(renewed, as: late) == .overtaken(used))
        #expect(
            try await records.end(family: used.family, originIDs: [], poolID: "pool", at: Self.now + 5) == [used])
        let ended = try #require(try await records.session(used.family))
        #expect(try await records.renew(used, as: late) == .overtaken(ended))
    }

    @Test("A session that was ended goes no further, and gives no answer once more")
    func ended() async throws {
        let records = try Fixture.records()
        try await records.begin(Self.record(answer: [1]))
        let ended = try await records.end(
            family: Self.record().family, originIDs: [], poolID: "pool", at: Self.now + 5)
        #expect(ended.map(\.family) == [Self.record().family])
        guard case .overtaken(let withRecords) = try await records.advance(to: Self.record(generation: 1)) else {
            return #expect(Bool(false))
        }
        #expect(withRecords.endedAt == Self.now + 5)
        #expect(withRecords.answer == nil)
        #expect(withRecords.token.isEmpty)
        #expect(ended.map(\.token) == [[0]], "whoever ended it has it still")
        let again = try await records.end(family: withRecords.family, originIDs: [], poolID: "pool", at: Self.now + 9)
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
        #expect(try await records.endAll(subject: "ada", poolID: "other", except: nil, at: Self.now).isEmpty)
        let ended = try await records.endAll(subject: "ada", poolID: "pool", except: nil, at: Self.now)
        #expect(ended.map { $0.family[0] } == [3, 4])
        #expect(try await records.session(Self.record(5).family)?.endedAt == nil)
        try await records.forget(subject: "ada", poolID: "pool")
        #expect(try await records.all(subject: "ada", poolID: "pool").isEmpty)
        #expect(try await records.all(subject: "ben", poolID: "pool").count == 1)
    }

    @Test("Of one user so many sessions go on: with one more the oldest one ends, and its tokens go")
    func limited() async throws {
        let records = try Fixture.records()
        func began(_ family: UInt8, generation: Int64 = 0) -> SessionRecord {
            var record = Self.record(family, generation: generation, answer: [1])
            record.signedInAt += Int64(family)
            return record
        }
        try await records.begin(Self.record(255, subject: "ben"))
        for family in 0..<250 as Range<UInt8> { try await records.begin(began(family)) }
        let open = try await records.open(subject: "ada", poolID: "pool")
        #expect(open.map { $0.family[0] } == Array(50..<250 as Range<UInt8>))
        let ended = try await records.all(subject: "ada", poolID: "pool").filter { $0.endedAt != nil }
        #expect(ended.map { $0.family[0] } == Array(0..<50 as Range<UInt8>))
        #expect(ended.allSatisfy { $0.endedAt == Self.now && $0.token.isEmpty && $0.answer == nil })
        #expect(try await records.session(Self.record(255).family)?.endedAt == nil, "another user's")
        // One that is new by its refresh, as a session that is taken over, and one that is known.
        for family in [251, 51] as [UInt8] {
            #expect(try await records.advance(to: began(family, generation: 1)) == .taken)
        }
        #expect(
            try await records.open(subject: "ada", poolID: "pool").map { $0.family[0] }
                == Array(51..<250 as Range<UInt8>) + [251])
    }

    @Test(
        "With each write some of what is over is forgotten: sessions past their end, answers past their window",
        arguments: ClockSteps.passing)
    func tidied(steps: ClockSteps) async throws {
        let store = try Self.store()
        let records = StoredSessions(store)
        try await records.begin(Self.record(1, answer: [1], endsAt: Self.now + 50))
        try await records.begin(Self.record(2, answer: [2], at: Self.now + 30))
        // A clock that is wrong for a while takes nothing away.
        let clock = ManualClock((Self.now + 30) * 1000)
        try store.followPruningClock(now: clock.now / 1000) { clock.uptime / 1000 }
        try await clock.take(steps) {
            let time = clock.now / 1000
            try await records.begin(Self.record(5, at: time, endsAt: time + 1000))
            try await records.removeEnded(now: time)
        }
        #expect(try await records.session(Self.record(1).family)?.answer == [1])
        #expect(try await records.session(Self.record(2).family)?.answer == [2])
        clock.advance(seconds: 31)
        try await records.begin(Self.record(3, at: Self.now + 61))
        #expect(try await records.session(Self.record(1).family) == nil)
        #expect(try await records.session(Self.record(2).family)?.answer == [2])
        clock.advance(seconds: 30)
        try await records.begin(Self.record(4, at: Self.now + 91))
        #expect(try await records.session(Self.record(2).family)?.answer == nil)
    }

    /// Three sessions, of which the last two are within the window of the last refresh.
    private static func fixture(_ store: Store) async throws -> StoredSessions {
        let records = StoredSessions(store)
        try await RetryWindows.begin(store, now: now)
        for (family, time) in [(1, -1), (2, 30), (3, 60)] as [(UInt8, Int64)] {
            try await records.begin(record(family, answer: [family], at: now + time))
        }
        return records
    }

    private static func store() throws -> Store {
        try Store(
            path: ":memory:",
            migrations: StoredSessions.migrations + StoredUsers.migrations + RetryWindows.migrations
                + PruningClock.migrations)
    }

    @Test("After a kill the windows that were open then open once more at the start, and close again")
    func kill() async throws {
        let store = try Self.store()
        let records = try await Self.fixture(store)
        try await RetryWindows.begin(store, now: Self.now + 500)
        for (family, until) in [(1, 0), (2, Self.now + 560), (3, Self.now + 560)] as [(UInt8, Int64)] {
            #expect(try await records.session(Self.record(family).family)?.retryUntil == until)
        }
        // Kept for as long, and no longer.
        try await records.begin(Self.record(4, at: Self.now + 560))
        #expect(try await records.session(Self.record(3).family)?.answer == [3])
        #expect(try await records.advance(to: Self.record(3, generation: 1, at: Self.now + 560)) == .taken)
        #expect(try await records.session(Self.record(3).family)?.retryUntil == 0)
        try await records.begin(Self.record(5, at: Self.now + 561))
        #expect(try await records.session(Self.record(2).family)?.answer == nil)
    }

    @Test("One kill after another keeps a window open, with an end in good order in between or without")
    func kills() async throws {
        let store = try Self.store()
        let records = try await Self.fixture(store)
        try await RetryWindows.begin(store, now: Self.now + 500)
        try await RetryWindows.begin(store, now: Self.now + 900)
        #expect(try await records.session(Self.record(3).family)?.retryUntil == Self.now + 960)
        try await RetryWindows.recordCleanShutdown(store, now: Self.now + 901)
        try await RetryWindows.begin(store, now: Self.now + 902)
        #expect(try await records.session(Self.record(3).family)?.retryUntil == Self.now + 960)
    }

    @Test("After an end in good order no window opens again")
    func goodOrder() async throws {
        let store = try Self.store()
        let records = try await Self.fixture(store)
        try await RetryWindows.recordCleanShutdown(store, now: Self.now + 61)
        try await RetryWindows.begin(store, now: Self.now + 500)
        #expect(try await records.session(Self.record(3).family)?.retryUntil == 0)
        // That counts for one start.
        try await RetryWindows.begin(store, now: Self.now + 500)
        #expect(try await records.session(Self.record(3).family)?.retryUntil == Self.now + 560)
    }
}
