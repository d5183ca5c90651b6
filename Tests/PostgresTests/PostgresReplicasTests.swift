import Postgres
import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Gateways of one database")
    struct Replicas {
        private static func report(_ id: String, list: ReplicaReport.ListStanding? = nil) -> ReplicaReport {
            ReplicaReport(id: id, name: "host-\(id)", version: "1.2", configuration: "digest", list: list)
        }

        private static let now = "extract(epoch FROM clock_timestamp())::bigint"

        /// Lets a gateway have been heard of last so many seconds ago.
        private func silence(_ id: String, for seconds: Int64, in store: PostgresStore) async throws {
            try await store.run(
                "UPDATE replicas SET heard_at = \(Self.now) - $2 WHERE id = $1", [.text(id), .integer(seconds)])
        }

        /// The database's, in seconds since 1970.
        private func time(_ store: PostgresStore) async throws -> Int64 {
            try await store.rows("SELECT \(Self.now) AS now")[0].integer("now")
        }

        @Test("A gateway is known with what it says of itself, and as alive, lost or ended")
        func states() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresReplicas(store)
            let position = try await records.position()
            let begin = try await time(store)
            try await records.report(Self.report("a", list: .init(position: position, age: 7)))
            for id in ["b", "c"] { try await records.report(Self.report(id)) }
            try await silence("b", for: 11, in: store)
            try await records.end("c")
            // However slow the machine is, it has been heard of now.
            try await silence("a", for: 0, in: store)
            let known = try await records.all()
            let passed = try await time(store) - begin
            #expect(known.map(\.id) == ["a", "b", "c"] && known.map(\.state) == [.alive, .lost, .ended])
            let first = try #require(known.first)
            #expect(first.name == "host-a" && first.version == "1.2" && first.configuration == "digest")
            #expect((7...7 + passed).contains(first.listAge ?? 0) && first.silence <= passed && known[1].listAge == nil)
            #expect((11...11 + passed).contains(known[1].silence))
            try await records.report(Self.report("b"))
            try await silence("a", for: 0, in: store)
            #expect(try await records.all().map(\.state) == [.alive, .alive, .ended])
        }

        @Test("Those of long ago are forgotten")
        func gone() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresReplicas(store)
            for id in ["ended", "lost", "alive", "just-ended", "just-lost"] {
                try await records.report(Self.report(id))
            }
            for id in ["ended", "just-ended"] { try await records.end(id) }
            try await store.run("UPDATE replicas SET ended_at = ended_at - 601 WHERE id = 'ended'")
            try await silence("lost", for: 3601, in: store)
            try await silence("just-lost", for: 3540, in: store)
            _ = try await records.takeUpLost()
            try await records.removeGone(silence: 300)
            #expect(try await records.all().map(\.id).sorted() == ["alive", "just-ended", "just-lost"])
        }

        private static func session(_ family: UInt8, refreshedAt: Int64, answer: [UInt8]? = [1]) -> SessionRecord {
            SessionRecord(
                family: [family], poolID: "p", subject: "ada", originID: nil, deviceID: nil, platform: nil,
                generation: 1, token: [1], answer: answer, signedInAt: refreshedAt, refreshedAt: refreshedAt,
                endsAt: refreshedAt + 1000)
        }

        @Test("Windows that were open when a gateway was killed open once more, and no others")
        func reopened() async throws {
            let database = try await RecordsDatabase()
            let (store, records) = (database.store, PostgresReplicas(database.store))
            let sessions = PostgresSessions(store)
            try await records.report(Self.report("killed"))
            try await records.report(Self.report("alive"))
            try await silence("killed", for: 30, in: store)
            let heardAt = try await store.rows("SELECT heard_at FROM replicas WHERE id = 'killed'")[0]
                .integer("heard_at")
            for (family, time) in [(1, -61), (2, -60), (3, 0), (4, 1)] as [(UInt8, Int64)] {
                #expect(try await sessions.begin(Self.session(family, refreshedAt: heardAt + time), redeeming: nil))
            }
            let without = Self.session(5, refreshedAt: heardAt, answer: nil)
            #expect(try await sessions.begin(without, redeeming: nil))
            #expect(try await records.takeUpLost() == ["host-killed"])
            let lostAt = try await store.rows("SELECT lost_at FROM replicas WHERE id = 'killed'")[0].integer("lost_at")
            var until: [Int64] = []
            for family in 1...5 as ClosedRange<UInt8> {
                until.append(try await sessions.session([family])?.retryUntil ?? -1)
            }
            #expect(until == [0, lostAt + 60, lostAt + 60, lostAt + 60, 0])
            // Once: the others find nothing, and what has closed since stays closed.
            try await store.run("UPDATE sessions SET retry_until = 0")
            // On a busy machine ten seconds may have passed.
            try await records.report(Self.report("alive"))
            #expect(try await PostgresReplicas(database.other()).takeUpLost() == [])
            #expect(try await sessions.session([3])?.retryUntil == 0)
        }

        @Test("A gateway that was heard by a clock that was ahead is lost as soon as by the right one")
        func ahead() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresReplicas(store)
            try await records.report(Self.report("killed"))
            try await silence("killed", for: -3600, in: store)
            #expect(try await records.takeUpLost() == [])
            #expect(try await records.all().map(\.state) == [.alive])
            try await silence("killed", for: 11, in: store)
            #expect(try await records.takeUpLost() == ["host-killed"])
        }

        @Test("A gateway that ended in good order, or is alive, opens nothing")
        func notReopened() async throws {
            let store = try await RecordsDatabase().store
            let (records, sessions) = (PostgresReplicas(store), PostgresSessions(store))
            for id in ["ended", "alive"] { try await records.report(Self.report(id)) }
            try await records.end("ended")
            try await silence("ended", for: 30, in: store)
            let heardAt = try await store.rows("SELECT heard_at FROM replicas WHERE id = 'alive'")[0]
                .integer("heard_at")
            #expect(try await sessions.begin(Self.session(1, refreshedAt: heardAt), redeeming: nil))
            #expect(try await records.takeUpLost() == [])
            #expect(try await sessions.session([1])?.retryUntil == 0)
        }

        @Test("Of many that look at once one finds each lost gateway, and all windows are opened")
        func concurrent() async throws {
            let database = try await RecordsDatabase()
            let stores = [database.store, database.other(), database.other()]
            let records = PostgresReplicas(stores[0])
            for number in 0..<9 {
                try await records.report(Self.report("r\(number)"))
                try await silence("r\(number)", for: 20, in: stores[0])
            }
            try await stores[0].run(
                """
                INSERT INTO sessions (family, pool_id, subject, generation, token, answer, retry_until, signed_in_at,
                    refreshed_at, ends_at)
                SELECT int4send(n), 'p', 'ada', 1, '', 'x', 0, t, t, t + 1000
                FROM generate_series(1, 1300) AS n, (SELECT \(Self.now) - 15 AS t) AS c
                """)
            let found = try await withThrowingTaskGroup(of: [String].self) { group in
                for store in stores { group.addTask { try await PostgresReplicas(store).takeUpLost() } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(found.sorted() == (0..<9).map { "host-r\($0)" })
            let closed = try await stores[0].rows("SELECT count(*) AS count FROM sessions WHERE retry_until = 0")
            #expect(try closed[0].integer("count") == 0)
        }

        @Test("A change is confirmed by the gateways that have read it, of all that may serve")
        func confirmations() async throws {
            let database = try await RecordsDatabase()
            let (store, records) = (database.store, PostgresReplicas(database.store))
            let revocations = PostgresRevocations(store)
            func standing() async throws -> ReplicaReport.ListStanding {
                .init(position: try await revocations.changes.read(since: nil, now: 0).position, age: 0)
            }
            let before = try await standing()
            let kept = RevocationRecord(issuer: "i", claim: "jti", value: "a", endsAt: .max)
            try await revocations.keep([kept])
            let position = try await records.position()
            func confirmed() async throws -> String {
                "\(try await records.confirmations(of: position, silence: 300))"
            }
            for id in ["a", "b", "c"] { try await records.report(Self.report(id, list: before)) }
            try await records.report(Self.report("no-list"))
            #expect(try await confirmed() == "0/4")
            try await records.report(Self.report("a", list: try await standing()))
            #expect(try await confirmed() == "1/4")
            // Later changes are not waited for.
            try await revocations.keep([RevocationRecord(issuer: "i", claim: "jti", value: "b", endsAt: .max)])
            #expect(try await confirmed() == "1/4")
            try await records.end("no-list")
            try await records.report(Self.report("b", list: try await standing()))
            #expect(try await confirmed() == "2/3")
            // It may still serve, until its list is too old.
            try await silence("c", for: 299, in: store)
            #expect(try await confirmed() == "2/3")
            try await silence("c", for: 301, in: store)
            #expect(try await confirmed() == "2/2")
            let elsewhere = ChangePosition(origin: "other", mark: position.mark)
            #expect(try await records.confirmations(of: elsewhere, silence: 300).confirmed == 0)
        }
    }
}
