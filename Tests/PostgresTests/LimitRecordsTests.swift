import Postgres
import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of limits")
    struct Limits {
        private static let now = RecordsFixture.now

        private func fixture() async throws -> (RecordsFixture, PostgresLimits) {
            let fixture = try await RecordsFixture(PostgresLimits.migrations)
            return (fixture, PostgresLimits(fixture.stores[0], clock: fixture.clock))
        }

        private func count(_ key: String, _ count: Int64, window: Int64 = 7, endsIn: Int64 = 60) -> CountRecord {
            CountRecord(key: key, window: window, count: count, endsAt: Self.now + endsIn)
        }

        @Test("What was counted adds up, in the order given, for a key that comes twice as well")
        func counts() async throws {
            let (_, limits) = try await fixture()
            #expect(try await limits.add([]).isEmpty)
            #expect(try await limits.add([count("b", 2), count("a", 1)]) == [2, 1])
            #expect(try await limits.add([count("b", 1), count("a", 5), count("b", 3)]) == [3, 6, 6])
            #expect(try await limits.add([count("a", 1, window: 8, endsIn: 120)]) == [1])
            let kept = try await limits.counts(now: Self.now, limit: 2)
            #expect(kept.map(\.window) == [7, 8] && kept.last == count("a", 1, window: 8, endsIn: 120))
            #expect(try await limits.counts(now: Self.now + 60, limit: 9).map(\.window) == [8])
        }

        @Test("More counts than a statement has parameters are written at once, and no connection is lost")
        func manyCounts() async throws {
            let (fixture, limits) = try await fixture()
            let made = fixture.stores[0].readings.made
            let records = (0..<20_000).map { count("k\($0)", Int64($0 % 3 + 1)) }
            #expect(try await limits.add(records) == records.map(\.count))
            #expect(try await limits.add(records) == records.map { $0.count * 2 })
            #expect(fixture.stores[0].readings.made == made)
        }

        @Test("Keys are told apart by their bytes")
        func bytes() async throws {
            let (_, limits) = try await fixture()
            #expect(try await limits.add([count("\u{E9}", 1), count("e\u{301}", 2)]) == [1, 2])
        }

        @Test("Failures in a row count until they end; a reset begins an epoch, greater with each")
        func failures() async throws {
            let (_, limits) = try await fixture()
            let (time, endsAt) = (Self.now * 1000, Self.now + 900)
            #expect(try await limits.addFailures(of: [], at: time, endsAt: endsAt).isEmpty)
            var found = try await limits.addFailures(of: ["b", "a", "b"], at: time, endsAt: endsAt)
            #expect(found.map(\.key) == ["b", "a", "b"] && found.map(\.count) == [1, 1, 2])
            found = try await limits.addFailures(of: ["a"], at: endsAt * 1000 - 1, endsAt: endsAt + 900)
            #expect(found.map(\.count) == [2] && found.map(\.endsAt) == [endsAt + 900])
            #expect(try await limits.addFailures(of: ["b"], at: endsAt * 1000, endsAt: endsAt).map(\.count) == [1])
            var epochs: [Int64] = []
            for time in [Self.now, Self.now, Self.now - 3600, Self.now + 1] {
                epochs.append(try await limits.resetFailures(of: "k", at: time * 1000, endsAt: time + 900).epoch)
            }
            #expect(epochs == [0, 1, 2, 1000].map { Self.now * 1000 + $0 })
            let reset = try await limits.resetFailures(of: "a", at: time, endsAt: endsAt)
            #expect(reset.count == 0 && reset.endsAt == endsAt + 900)
            #expect(try await limits.failures(now: Self.now, limit: 9).map(\.key) == ["b"])
            let after = try await limits.addFailures(of: ["a"], at: time + 1, endsAt: endsAt)
            #expect(after == [FailureRecord(key: "a", count: 1, lastAt: time + 1, endsAt: endsAt, epoch: time)])
        }

        @Test("A standing has whether the device is known, and what has failed, in the order asked for")
        func standing() async throws {
            let (fixture, limits) = try await fixture()
            _ = try await limits.addFailures(of: ["a", "b"], at: Self.now * 1000, endsAt: Self.now + 900)
            try await limits.remember(device: "d", endsAt: Self.now + 60)
            try await limits.remember(device: "d", endsAt: Self.now + 30)
            var found = try await limits.standing(ofDevice: "d", failures: ["b", "none", "a"], now: Self.now + 59)
            #expect(found.knowsDevice && found.failures.map(\.key) == ["b", "a"])
            found = try await limits.standing(ofDevice: "d", failures: [], now: Self.now + 60)
            #expect(found == LimitStanding(knowsDevice: false, failures: []))
            found = try await limits.standing(ofDevice: nil, failures: ["a"], now: Self.now + 900)
            #expect(found == LimitStanding(knowsDevice: false, failures: []))
            fixture.clock.believe(upTo: Self.now)
            found = try await limits.standing(ofDevice: "d", failures: ["a"], now: Self.now + 900)
            #expect(!found.knowsDevice && found.failures.map(\.key) == ["a"])
        }

        @Test("What has ended is removed, not by a clock that is ahead, and beyond the limit what ends soonest")
        func removal() async throws {
            let (fixture, limits) = try await fixture()
            let records = (0..<1200).map { count("k\($0)", 1, endsIn: 60) } + [count("later", 1, endsIn: 90)]
            _ = try await limits.add(records + [count("last", 1, endsIn: 120)])
            fixture.clock.believe(upTo: Self.now)
            try await limits.removeEnded(now: Self.now + 60, limit: 9999)
            #expect(try await limits.counts(now: 0, limit: 9999).count == 1202)
            fixture.clock.believe(upTo: .max)
            try await limits.removeEnded(now: Self.now + 60, limit: 9999)
            #expect(try await limits.counts(now: 0, limit: 9999).map(\.key).sorted() == ["last", "later"])
            for number in 0..<11 {
                try await limits.remember(device: "d\(number)", endsAt: Self.now + 100 + Int64(number))
            }
            try await limits.removeEnded(now: Self.now + 60, limit: 1)
            for (device, isKnown) in [("d0", false), ("d1", true), ("d10", true)] {
                let standing = try await limits.standing(ofDevice: device, failures: [], now: Self.now + 60)
                #expect(standing.knowsDevice == isKnown, "ten devices for each other key: \(device)")
            }
            #expect(try await limits.counts(now: 0, limit: 9999).map(\.key) == ["last"])
        }

        @Test("A table whose rows cannot be removed keeps no other's")
        func failedRemoval() async throws {
            let (fixture, limits) = try await fixture()
            let store = fixture.stores[0]
            for (name, endsIn) in [("over", 59), ("first", 90), ("last", 120)] as [(String, Int64)] {
                try await limits.remember(account: "a", of: name, endsAt: Self.now + endsIn)
            }
            try await store.run("DROP TABLE known_devices")
            for (limit, left) in [(9, ["first", "last"]), (1, ["last"])] {
                await #expect(throws: PostgresError.self) {
                    try await limits.removeEnded(now: Self.now + 60, limit: limit)
                }
                let found = try await store.rows("SELECT name FROM accounts_of_names ORDER BY name")
                #expect(try found.map { try $0.text("name") } == left)
            }
        }

        @Test("Counting rows may take longer than other statements")
        func longReading() async throws {
            let store = try await fixture().0.stores[0]
            let sql = "SELECT current_setting('statement_timeout') AS value"
            #expect(try await store.rowsOfLongReading(sql).first?.text("value") == "2min")
            #expect(try await store.rows(sql).first?.text("value") == "1min", "as in the settings, afterwards")
        }

        @Test("More than a response may have is read in pages, the newest up to the limit")
        func many() async throws {
            let (fixture, limits) = try await fixture()
            let count = 60_000
            try await fixture.stores[0].run(
                """
                INSERT INTO sign_in_failures (key, count, last_at, ends_at)
                SELECT repeat(md5(n::text), 10), 1, \(Self.now)000, \(Self.now) + 900 + n / 300
                FROM generate_series(1, \(count)) AS n
                """)
            // Many end at the same time.
            try await fixture.stores[0].run(
                """
                INSERT INTO limit_counts (key, window_number, count, ends_at)
                SELECT 'k' || n / 2, 7 + n % 2, n, \(Self.now) + 60 + n / 20000 FROM generate_series(2, 40001) AS n
                """)
            try await fixture.stores[0].run("ANALYZE sign_in_failures, limit_counts")
            let failures = try await limits.failures(now: Self.now, limit: 300_000)
            #expect(failures.count == count && Set(failures.map(\.key)).count == count)
            let newest = try await limits.failures(now: Self.now, limit: 15_000)
            #expect(newest == Array(failures.prefix(15_000)))
            let counts = try await limits.counts(now: Self.now, limit: 50_000)
            #expect(counts.count == 40_000 && Set(counts).count == 40_000)
            #expect(counts.map(\.window) == counts.map(\.window).sorted())
            #expect(try await limits.counts(now: Self.now, limit: 10_001).count == 10_001)
        }

        @Test("Failures are counted one by one within an epoch, and each reset begins one")
        func concurrentFailures() async throws {
            let (fixture, _) = try await fixture()
            for round in 0..<RecordsFixture.rounds {
                let records = try await fixture.race { store, writer in
                    let (limits, endsAt) = (PostgresLimits(store, clock: fixture.clock), Self.now + 900)
                    return writer == 3
                        ? [try await limits.resetFailures(of: "k\(round)", at: Self.now * 1000, endsAt: endsAt)]
                        : try await limits.addFailures(of: ["k\(round)"], at: Self.now * 1000, endsAt: endsAt)
                }.flatMap(\.self)
                let before = records.filter { $0.epoch == 0 }.map(\.count).sorted()
                let after = records.filter { $0.epoch == Self.now * 1000 }.map(\.count).sorted()
                #expect(before == Array(1...Int64(RecordsFixture.writers)).prefix(before.count).map(\.self))
                #expect(after == Array(0...Int64(RecordsFixture.writers)).prefix(after.count).map(\.self))
                #expect(before.count + after.count == RecordsFixture.writers)
            }
        }

        @Test("Counts of many keys, in any order, lose none and wait for no one in a circle")
        func concurrentCounts() async throws {
            let (fixture, limits) = try await fixture()
            let keys = (0..<20).map { "k\($0)" }
            for _ in 0..<RecordsFixture.rounds {
                _ = try await fixture.race { store, writer in
                    let order = writer.isMultiple(of: 2) ? keys : keys.reversed()
                    return try await PostgresLimits(store, clock: fixture.clock).add(order.map { count($0, 1) })
                }
            }
            let total = Int64(RecordsFixture.rounds * RecordsFixture.writers)
            #expect(try await limits.counts(now: Self.now, limit: 99).map(\.count) == keys.map { _ in total })
        }
    }
}
