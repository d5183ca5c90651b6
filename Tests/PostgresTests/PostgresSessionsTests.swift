import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of sessions")
    struct Sessions {
        private static let now: Int64 = 1_700_000_000

        private static func record(
            _ family: UInt8 = 1, generation: Int64 = 0, subject: String = "ada", answer: [UInt8]? = nil,
            at time: Int64 = now, endsAt: Int64 = now + 1000
        ) -> SessionRecord {
            SessionRecord(
                family: [UInt8](repeating: family, count: 16), poolID: "pool", subject: subject,
                originID: "origin-\(family)", deviceID: "d", platform: "ios", generation: generation,
                token: [UInt8(generation)], answer: answer, signedInAt: now, refreshedAt: time, endsAt: endsAt)
        }

        private func records() async throws -> PostgresSessions {
            PostgresSessions(try await RecordsDatabase().store)
        }

        private func begin(_ record: SessionRecord, _ records: PostgresSessions) async throws {
            #expect(try await records.begin(record, redeeming: nil))
        }

        @Test("What is kept is found as it was")
        func roundTrip() async throws {
            let records = try await records()
            var record = Self.record(answer: [1, 2, 3])
            (record.retryUntil, record.endedAt) = (Self.now + 9, 7)
            record.device = SessionDevice(name: "Ada's", model: "m", osVersion: "1", appVersion: "2")
            try await begin(record, records)
            #expect(try await records.session(record.family) == record)
            #expect(try await records.session([9]) == nil)
            #expect(try await records.all(subject: "ada", poolID: "pool") == [record])
            #expect(try await records.all(subject: "ada", poolID: "other").isEmpty)
            let bare = SessionRecord(
                family: [7], poolID: "q", subject: "\"\\{}", originID: nil, deviceID: nil, platform: nil,
                generation: 0, token: [], signedInAt: 1, refreshedAt: 1, endsAt: 1)
            try await begin(bare, records)
            #expect(try await records.session([7]) == bare)
        }

        @Test("A session that is not there, or fell behind, is brought to where its token is, and never back")
        func steps() async throws {
            let records = try await records()
            #expect(try await records.advance(to: Self.record(generation: 4)) == .taken)
            var ahead = Self.record(generation: 9, subject: "eve", answer: [9], at: Self.now + 5)
            ahead.retryUntil = 3
            #expect(try await records.advance(to: ahead) == .taken)
            ahead.subject = "ada"
            for generation in [9, 4] as [Int64] {
                let step = try await records.advance(to: Self.record(generation: generation))
                #expect(step == .overtaken(ahead), "the sign-in stays as it was")
            }
        }

        @Test("A session that was stored and is forgotten meanwhile is not stored again")
        func forgotten() async throws {
            let records = try await records()
            let (first, second) = (Self.record(), Self.record(generation: 1, answer: [1]))
            try await begin(first, records)
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
            let records = try await records()
            var known = Self.record(generation: 1, answer: [1])
            try await begin(known, records)
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
            let records = try await records()
            let first = Self.record(answer: [1])
            try await begin(first, records)
            let ended = try await records.end(family: first.family, originIDs: [], poolID: "pool", at: Self.now + 5)
            #expect(ended == [first], "whoever ended it has its token still")
            var expected = first
            (expected.endedAt, expected.token, expected.answer) = (Self.now + 5, [], nil)
            #expect(try await records.advance(to: Self.record(generation: 1)) == .overtaken(expected))
            let again = try await records.end(
                family: first.family, originIDs: ["origin-1"], poolID: "pool", at: Self.now + 9)
            #expect(again.isEmpty, "it ended once")
        }

        @Test("Sessions end by family, by origin, or all of a user's, and those of other pools and users go on")
        func whichEnd() async throws {
            let records = try await records()
            for family in 1...5 as ClosedRange<UInt8> { try await begin(Self.record(family), records) }
            try await begin(Self.record(6, subject: "ben"), records)
            #expect(try await records.end(family: nil, originIDs: [], poolID: "pool", at: Self.now).isEmpty)
            let some = try await records.end(
                family: Self.record(1).family, originIDs: ["origin-2", "un\"known\\,"], poolID: "pool", at: Self.now)
            #expect(some.map { $0.family[0] } == [1, 2])
            #expect(try await records.endAll(subject: "ada", poolID: "other", except: nil, at: Self.now).isEmpty)
            let except = Self.record(5).family
            let ended = try await records.endAll(subject: "ada", poolID: "pool", except: except, at: Self.now)
            #expect(ended.map { $0.family[0] } == [3, 4])
            let last = try await records.endAll(subject: "ada", poolID: "pool", except: nil, at: Self.now)
            #expect(last.map { $0.family[0] } == [5])
            #expect(try await records.session(Self.record(6).family)?.endedAt == nil)
            try await records.forget(subject: "ada", poolID: "pool")
            #expect(try await records.all(subject: "ada", poolID: "pool").isEmpty)
            #expect(try await records.all(subject: "ben", poolID: "pool").count == 1)
        }

        @Test("Of one user so many sessions go on: with one more the oldest one ends, and its tokens go")
        func limited() async throws {
            let records = try await records()
            func began(_ family: UInt8, generation: Int64 = 0) -> SessionRecord {
                var record = Self.record(family, generation: generation, answer: [1])
                record.signedInAt += Int64(family)
                return record
            }
            try await begin(Self.record(255, subject: "ben"), records)
            for family in 0..<250 as Range<UInt8> { try await begin(began(family), records) }
            let open = try await records.open(subject: "ada", poolID: "pool")
            #expect(open.map { $0.family[0] } == Array(50..<250 as Range<UInt8>))
            let ended = try await records.all(subject: "ada", poolID: "pool").filter { $0.endedAt != nil }
            #expect(ended.map { $0.family[0] } == Array(0..<50 as Range<UInt8>))
            #expect(ended.allSatisfy { $0.endedAt == Self.now && $0.token.isEmpty && $0.answer == nil })
            #expect(try await records.session(Self.record(255).family)?.endedAt == nil, "another user's")
            // A code that cannot be used ends nothing either.
            #expect(try await !records.begin(began(252), redeeming: [9]))
            #expect(try await records.open(subject: "ada", poolID: "pool") == open)
            // One that is new by its refresh, as a session that is taken over, and one that is known.
            for family in [251, 51] as [UInt8] {
                #expect(try await records.advance(to: began(family, generation: 1)) == .taken)
            }
            #expect(
                try await records.open(subject: "ada", poolID: "pool").map { $0.family[0] }
                    == Array(51..<250 as Range<UInt8>) + [251])
        }

        @Test("Sessions past their end go, and answers past their window, by the clock that is believed")
        func removed() async throws {
            let database = try await RecordsDatabase()
            let doubting = PostgresSessions(database.store, clock: LimitedClock(limit: Self.now + 40))
            let records = PostgresSessions(database.store)
            try await begin(Self.record(1, answer: [1], endsAt: Self.now + 50), records)
            try await begin(Self.record(2, answer: [2], at: Self.now), records)
            try await begin(Self.record(3, answer: [3], at: Self.now + 30), records)
            var reopened = Self.record(4, answer: [4], at: Self.now)
            reopened.retryUntil = Self.now + 61
            try await begin(reopened, records)
            try await records.note(["old"], of: "ada", poolID: "pool", endsAt: Self.now + 50)
            try await records.note(["new"], of: "ada", poolID: "pool", endsAt: Self.now + 99)
            try await doubting.removeEnded(now: Self.now + 500)
            #expect(try await records.all(subject: "ada", poolID: "pool").compactMap(\.answer) == [[1], [2], [3], [4]])
            #expect(try await records.subject(named: "old", poolID: "pool") == "ada")
            try await records.removeEnded(now: Self.now + 61)
            #expect(try await records.all(subject: "ada", poolID: "pool").map(\.answer) == [nil, [3], [4]])
            #expect(try await records.subject(named: "old", poolID: "pool") == nil)
            #expect(try await records.subject(named: "new", poolID: "pool") == "ada")
        }

        @Test("Many that are over go in as many statements as it takes")
        func many() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresSessions(store)
            let names = (0..<1201).map { "name-\($0)" }
            try await records.note(names, of: "ada", poolID: "pool", endsAt: Self.now)
            try await records.note(["lasting"], of: "ada", poolID: "pool", endsAt: Self.now + 1)
            try await records.removeEnded(now: Self.now)
            #expect(try await store.rows("SELECT name FROM account_names").map { try $0.text("name") } == ["lasting"])
        }

        @Test("A name is of the last one who has signed in by it, and of nobody who is forgotten")
        func names() async throws {
            let records = try await records()
            for id in ["ada", "eve", "ada"] {
                try await records.note(["shared", "of-\(id)", "shared"], of: id, poolID: "p", endsAt: Self.now)
                #expect(try await records.subject(named: "shared", poolID: "p") == id)
            }
            try await records.note([], of: "ada", poolID: "p", endsAt: Self.now)
            #expect(try await records.subject(named: "shared", poolID: "q") == nil)
            #expect(try await records.subject(named: "Shared", poolID: "p") == nil)
            let names = ["of-eve", "Shared", "shared", "of-eve"]
            #expect(try await records.subjects(named: names, poolID: "p") == ["eve", nil, "ada", "eve"])
            #expect(try await records.subjects(named: [], poolID: "p") == [])
            try await records.forget(subject: "ada", poolID: "p")
            #expect(try await records.subject(named: "shared", poolID: "p") == nil)
            #expect(try await records.subject(named: "of-eve", poolID: "p") == "eve")
        }
    }
}
