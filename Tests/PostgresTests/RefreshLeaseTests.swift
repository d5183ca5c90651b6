import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Leases of refreshes")
    struct RefreshLeaseRecordsSuite {
        private static let now: Int64 = 1_700_000_000

        private static func session(_ family: [UInt8], generation: Int64 = 1, token: UInt8 = 1) -> SessionRecord {
            SessionRecord(
                family: family, poolID: "p", subject: "ada", originID: nil, deviceID: nil, platform: nil,
                generation: generation, token: [token], signedInAt: now, refreshedAt: now, endsAt: now + 1000)
        }

        private static func lease(_ family: [UInt8], _ holder: UInt8, generation: Int64 = 1) -> RefreshLease {
            RefreshLease(family: family, generation: generation, holder: [holder])
        }

        /// As if the time of all leases had passed.
        static func expireLeases(_ store: PostgresStore) async throws {
            try await store.run("UPDATE sessions SET lease_ends_at = now() WHERE lease_ends_at IS NOT NULL")
            try await store.run("UPDATE refresh_leases SET ends_at = now()")
        }

        @Test(
            "Of many who ask at once one gets the lease, whether the session is stored or not",
            arguments: [true, false])
        func races(isStored: Bool) async throws {
            let database = try await RecordsDatabase()
            let gateways = [database.store, database.other(), database.other()].map { PostgresSessions($0) }
            for round in 0..<100 as Range<UInt8> {
                if isStored { #expect(try await gateways[0].begin(Self.session([round]), redeeming: nil)) }
                let steps = try await withThrowingTaskGroup(of: RefreshLeaseStep.self) { group in
                    for holder in 0..<9 as Range<UInt8> {
                        group.addTask { try await gateways[Int(holder) % 3].take(Self.lease([round], holder)) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(steps.filter { $0 != .held } == [.taken(isStored ? Self.session([round]) : nil)])
                #expect(steps.count { $0 == .held } == 8)
            }
        }

        @Test("A lease of a clock that was ahead holds nobody up", arguments: [true, false])
        func ahead(isStored: Bool) async throws {
            let store = try await RecordsDatabase().store
            let sessions = PostgresSessions(store)
            if isStored { #expect(try await sessions.begin(Self.session([1]), redeeming: nil)) }
            let taken = RefreshLeaseStep.taken(isStored ? Self.session([1]) : nil)
            #expect(try await sessions.take(Self.lease([1], 1)) == taken)
            for (shift, expected) in [(5, RefreshLeaseStep.held), (3600, taken)] {
                try await store.run(
                    "UPDATE sessions SET lease_ends_at = lease_ends_at + interval '\(shift) seconds'")
                try await store.run("UPDATE refresh_leases SET ends_at = ends_at + interval '\(shift) seconds'")
                #expect(try await sessions.take(Self.lease([1], 2)) == expected)
            }
        }

        @Test("Of many who take, store and release nobody takes a lease for a token that has a successor")
        func successors() async throws {
            let database = try await RecordsDatabase()
            let gateways = [database.store, database.other(), database.other()].map { PostgresSessions($0) }
            for round in 0..<100 as Range<UInt8> {
                let isStored = round % 2 == 0
                if isStored { #expect(try await gateways[0].begin(Self.session([round]), redeeming: nil)) }
                let calls = try await withThrowingTaskGroup(of: Int.self) { group in
                    for holder in 0..<6 as Range<UInt8> {
                        group.addTask {
                            let records = gateways[Int(holder) % 3]
                            while true {
                                switch try await records.take(Self.lease([round], holder)) {
                                case .taken(let record):
                                    #expect(record == (isStored ? Self.session([round]) : nil))
                                    let next = Self.session([round], generation: 2, token: holder)
                                    #expect(try await records.advance(to: next) == .taken)
                                    return 1
                                case .passed(let record):
                                    #expect(record.generation == 2)
                                    return 0
                                case .held: await Task.yield()
                                case .unshared: Issue.record("there are several gateways")
                                }
                            }
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(calls == 1)
            }
        }

        @Test("A holder that dies holds nobody up for longer than its lease", arguments: [true, false])
        func deadHolder(isStored: Bool) async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresSessions(store)
            if isStored { #expect(try await records.begin(Self.session([1]), redeeming: nil)) }
            #expect(try await records.take(Self.lease([1], 1)) == .taken(isStored ? Self.session([1]) : nil))
            #expect(try await records.take(Self.lease([1], 2)) == .held)
            let table = isStored ? "sessions WHERE lease_ends_at" : "refresh_leases WHERE ends_at"
            let left = try await store.rows(
                "SELECT 1 AS one FROM \(table) BETWEEN now() AND now() + interval '10 seconds'")
            #expect(left.count == 1)
            try await Self.expireLeases(store)
            #expect(try await records.take(Self.lease([1], 2)) == .taken(isStored ? Self.session([1]) : nil))
            #expect(try await !records.renew(Self.lease([1], 1)), "it is another one's")
            try await records.release(Self.lease([1], 1))
            #expect(try await records.take(Self.lease([1], 3)) == .held)
            #expect(try await records.renew(Self.lease([1], 2)))
            try await records.release(Self.lease([1], 2))
            #expect(try await records.take(Self.lease([1], 3)) == .taken(isStored ? Self.session([1]) : nil))
        }

        @Test("A renewed lease is good for as long as a new one", arguments: [true, false])
        func renewal(isStored: Bool) async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresSessions(store)
            if isStored { #expect(try await records.begin(Self.session([1]), redeeming: nil)) }
            #expect(try await records.take(Self.lease([1], 1)) == .taken(isStored ? Self.session([1]) : nil))
            try await Self.expireLeases(store)
            #expect(try await records.renew(Self.lease([1], 1)), "nobody has taken it")
            #expect(try await records.take(Self.lease([1], 2)) == .held)
        }

        @Test("Of two who hold a lease one after the other, and both have a successor, one stores it")
        func twoSuccessors() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresSessions(store)
            #expect(try await records.begin(Self.session([1]), redeeming: nil))
            #expect(try await records.take(Self.lease([1], 1)) == .taken(Self.session([1])))
            try await Self.expireLeases(store)
            #expect(try await records.take(Self.lease([1], 2)) == .taken(Self.session([1])))
            let stored = Self.session([1], generation: 2, token: 11)
            #expect(try await records.advance(to: stored) == .taken)
            #expect(try await records.advance(to: Self.session([1], generation: 2, token: 12)) == .overtaken(stored))
            #expect(try await records.take(Self.lease([1], 3)) == .passed(stored))
            let next = try await records.take(Self.lease([1], 3, generation: 2))
            #expect(next == .taken(stored), "the next token's is free")
        }

        @Test("The lease of a session that has ended is given to nobody")
        func ended() async throws {
            let records = PostgresSessions(try await RecordsDatabase().store)
            #expect(try await records.begin(Self.session([1]), redeeming: nil))
            #expect(try await records.take(Self.lease([1], 1)) == .taken(Self.session([1])))
            #expect(try await records.end(family: [1], originIDs: [], poolID: "p", at: 5).count == 1)
            let step = try await records.take(Self.lease([1], 2))
            guard case .passed(let record) = step else {
                Issue.record("\(step)")
                return
            }
            #expect(record.endedAt == 5)
            let next = Self.session([1], generation: 2)
            #expect(try await records.advance(to: next) == .overtaken(record), "its holder stores nothing")
        }

        @Test("Leases of sessions that are not stored go when they have ended")
        func removed() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresSessions(store)
            for family in 0..<3 as Range<UInt8> {
                #expect(try await records.take(Self.lease([family], 1)) == .taken(nil))
            }
            try await Self.expireLeases(store)
            #expect(try await records.renew(Self.lease([2], 1)))
            try await records.removeEnded(now: Self.now)
            let left = try await store.rows("SELECT family FROM refresh_leases").map { try $0.bytes("family") }
            #expect(left == [[2]])
        }
    }
}
