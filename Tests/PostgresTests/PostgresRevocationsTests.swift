import Postgres
import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of revocations")
    struct Revocations {
        private static func revocation(_ value: String, endsAt: Int64 = 100) -> RevocationRecord {
            RevocationRecord(issuer: "i", claim: "jti", value: value, endsAt: endsAt)
        }

        private static func user(_ before: Int64?, sparing: String? = nil, endsAt: Int64 = 100) -> RevocationRecord {
            RevocationRecord(
                issuer: "i", claim: "sub", value: "ada", before: before, sparing: sparing, endsAt: endsAt)
        }

        @Test("What is kept is found as it was, until it ends by the clock that is believed")
        func roundTrip() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresRevocations(store)
            let kept = [
                Self.revocation("a"), Self.revocation("quo\"te\\,{}", endsAt: 50), Self.user(7),
                Self.user(8, sparing: "o"),
                Self.user(9, sparing: ""),
            ]
            let grace = PostgresRevocations.grace
            try await records.keep(kept)
            try await records.keep([])
            #expect(try await Set(records.all(now: 49 + grace)) == Set(kept))
            #expect(try await Set(records.all(now: 50 + grace)) == Set(kept.filter { $0.endsAt > 50 }))
            try await PostgresRevocations(store, clock: LimitedClock(limit: 49 + grace)).removeEnded(now: 9000)
            #expect(try await records.all(now: 0).count == 5)
            try await records.removeEnded(now: 50 + grace)
            #expect(try await Set(records.all(now: 0)) == Set(kept.filter { $0.endsAt > 50 }))
        }

        @Test("Of two for the same tokens what either means is meant, kept at once or one after the other")
        func merged() async throws {
            for isAtOnce in [true, false] {
                let records = PostgresRevocations(try await RecordsDatabase().store)
                let groups = [
                    [Self.user(5, endsAt: 90), Self.user(3, endsAt: 100)],
                    [Self.user(2, sparing: "o"), Self.user(4, sparing: "o", endsAt: 80)],
                    [Self.revocation("a", endsAt: 80), Self.revocation("a", endsAt: 70)],
                ]
                if isAtOnce { try await records.keep(groups.flatMap(\.self)) }
                for record in groups.flatMap(\.self) where !isAtOnce { try await records.keep([record]) }
                let expected = [Self.user(5), Self.user(4, sparing: "o"), Self.revocation("a", endsAt: 80)]
                #expect(try await Set(records.all(now: 0)) == Set(expected), "at once: \(isAtOnce)")
                try await records.keep([Self.user(nil), Self.user(nil, sparing: "o")])
                let wider = [Self.user(nil), Self.user(.max, sparing: "o"), Self.revocation("a", endsAt: 80)]
                #expect(try await Set(records.all(now: 0)) == Set(wider))
            }
        }

        @Test("Many are kept by one statement, and go in as many as it takes")
        func many() async throws {
            let records = PostgresRevocations(try await RecordsDatabase().store)
            try await records.keep((0..<20_001).map { Self.revocation("r\($0)") } + [Self.revocation("l", endsAt: 101)])
            let grace = PostgresRevocations.grace
            #expect(try await records.all(now: 0).count == 20_002)
            try await records.removeEnded(now: 100 + grace)
            #expect(try await records.all(now: 0).map(\.value) == ["l"])
        }
    }
}
