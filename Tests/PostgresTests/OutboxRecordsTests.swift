import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of the outbox")
    struct Outbox {
        private static let now = RecordsFixture.now * 1000

        private func fixture() async throws -> (RecordsFixture, PostgresOutbox) {
            let fixture = try await RecordsFixture(PostgresOutbox.migrations)
            return (fixture, PostgresOutbox(fixture.stores[0], clock: fixture.clock))
        }

        private func message(_ key: String, after time: Int64 = 0, mustArrive: Bool = false) -> OutboxMessage {
            OutboxMessage(
                key: key, destination: "backend", kind: "deleted", subject: time == 0 ? nil : "ada", body: "{}",
                createdAt: Self.now + time, mustArrive: mustArrive)
        }

        private func claim(
            _ records: PostgresOutbox, at time: Int64, limit: Int = 9
        ) async throws -> [OutboxMessage] {
            try await records.claim(
                for: "backend", now: Self.now + time, lease: 10_000, longestPause: 3_600_000, limit: limit)
        }

        @Test("A key counts once; what waits is counted by destination, and what must arrive apart")
        func bounds() async throws {
            let (_, records) = try await fixture()
            #expect(try await records.add(message("k-1")))
            #expect(try await !records.add(message("k-1")))
            #expect(try await records.add(message("k-2")))
            #expect(try await records.add(message("k-4", mustArrive: true)))
            var other = message("k-5")
            other.destination = "apple"
            #expect(try await records.add(other))
            let counts = try await records.counts().map { "\($0.destination) \($0.mustArrive) \($0.count)" }
            #expect(counts.sorted() == ["apple false 1", "backend false 2", "backend true 1"])
            #expect(try await records.count() == 4)
            try await records.remove(key: "k-1")
            #expect(try await claim(records, at: 0).map(\.key).sorted() == ["k-2", "k-4"])
        }

        @Test("A message of a deletion takes the place of those about the user that wait")
        func deletion() async throws {
            let (_, records) = try await fixture()
            for key in ["k-1", "k-2"] { #expect(try await records.add(message(key, after: 1))) }
            #expect(try await records.add(message("k-3")))
            #expect(try await records.add(message("k-4", after: 2, mustArrive: true)))
            #expect(try await claim(records, at: 3).map(\.key).sorted() == ["k-3", "k-4"])
        }

        @Test("A message comes back as it was given, the oldest first, and is due again ever later")
        func claims() async throws {
            let (_, records) = try await fixture()
            for message in [message("k-2", after: 2), message("k-1", after: 1)] {
                #expect(try await records.add(message))
            }
            var expected = [message("k-1", after: 1), message("k-2", after: 2)]
            for index in expected.indices {
                (expected[index].attempts, expected[index].dueAt) = (1, Self.now + 2 + 11_000)
            }
            #expect(try await claim(records, at: 0).isEmpty)
            #expect(try await claim(records, at: 2) == expected)
            try await records.remove(key: "k-2")
            var time: Int64 = 2
            for pause: Int64 in [1000, 2000, 4000] {
                time += 10_000 + pause
                #expect(try await claim(records, at: time - 1).isEmpty)
                #expect(try await claim(records, at: time).count == 1)
            }
            try await records.postpone(key: "k-1", until: Self.now)
            #expect(try await claim(records, at: 0).map(\.attempts) == [5])
            // Due later than any pause allows: by a clock that has been set back since.
            try await records.postpone(key: "k-1", until: Self.now + 10_000 + 3_600_000 + 60_001)
            #expect(try await claim(records, at: 0).map(\.attempts) == [6])
        }

        @Test(
            "A count of attempts that no gateway has written keeps no message from being sent",
            arguments: [Int.min, -1, .max])
        func strangeAttempts(attempts: Int) async throws {
            let (_, records) = try await fixture()
            var strange = message("k-1")
            strange.attempts = attempts
            _ = try await records.add(strange)
            #expect(try await claim(records, at: 0).map(\.attempts) == [attempts == .max ? 1_000_001 : 1])
        }

        @Test("Messages that are too old are given up, not by a clock that is ahead")
        func older() async throws {
            let (fixture, records) = try await fixture()
            for message in [message("k-1"), message("k-2", after: 5000)] {
                _ = try await records.add(message)
            }
            fixture.clock.believe(upTo: RecordsFixture.now)
            #expect(try await records.removeOlder(than: 2000, now: Self.now + 5000).isEmpty)
            fixture.clock.believe(upTo: .max)
            #expect(try await records.removeOlder(than: 2000, now: Self.now + 5000) == [message("k-1")])
            #expect(try await records.count() == 1)
        }

        @Test("Processes that claim at the same time get each message once")
        func concurrentClaims() async throws {
            let (fixture, records) = try await fixture()
            for number in 0..<60 { _ = try await records.add(message("k-\(number)")) }
            var keys: [String] = []
            while true {
                let claimed = try await fixture.race { store, _ in
                    try await claim(PostgresOutbox(store, clock: fixture.clock), at: 0, limit: 3)
                }.flatMap(\.self)
                guard !claimed.isEmpty else { break }
                keys += claimed.map(\.key)
            }
            #expect(keys.count == 60 && Set(keys).count == 60)
        }
    }
}
