import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Values that several gateways need for a while")
    struct ShortLived {
        private static func value(_ key: String, _ byte: UInt8 = 1) -> ShortLivedValue {
            ShortLivedValue(key: key, value: [byte])
        }

        @Test("What one gateway keeps another finds, by kind and key, in the place of what was there")
        func kept() async throws {
            let database = try await RecordsDatabase()
            let (first, second) = (PostgresShortLived(database.store), PostgresShortLived(database.other()))
            try await first.keep([Self.value("b", 2), Self.value("a"), Self.value("a", 3)], .signInStep, seconds: 60)
            try await first.keep([Self.value("a", 9)], .directSession, seconds: 60)
            try await first.keep([], .directSession, seconds: 60)
            let found = try await second.values(.signInStep, by: ["a", "b", "c\"\\", "a"]).sorted { $0.key < $1.key }
            #expect(found == [Self.value("a", 3), Self.value("b", 2)])
            #expect(try await second.values(.signInStep, by: []).isEmpty)
            try await second.keep([Self.value("a", 4)], .signInStep, seconds: 60)
            #expect(try await first.values(.signInStep, by: ["a"]) == [Self.value("a", 4)])
            #expect(try await first.values(.directSession, by: ["a"]) == [Self.value("a", 9)])
        }

        @Test("A value ends by the server's clock, and goes then")
        func ended() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresShortLived(store)
            try await records.keep([Self.value("a")], .signInStep, seconds: 60)
            try await records.keep([Self.value("b")], .signInStep, seconds: 0)
            try await records.removeEnded()
            #expect(try await store.rows("SELECT key FROM short_lived").map { try $0.text("key") } == ["a"])
            try await store.run("UPDATE short_lived SET ends_at = ends_at - 60")
            #expect(try await records.values(.signInStep, by: ["a"]).isEmpty)
            #expect(try await records.take(.signInStep, by: "a") == nil)
            try await records.removeEnded()
            #expect(try await store.rows("SELECT key FROM short_lived").isEmpty)
        }

        @Test("Of many who take a value one gets it, also beside those who keep others")
        func taken() async throws {
            let database = try await RecordsDatabase()
            let gateways = [database.store, database.other()].map(PostgresShortLived.init)
            let others = (0..<20).map { Self.value("other-\($0)") }
            for round in 0..<100 as Range<UInt8> {
                try await gateways[0].keep([Self.value("k", round)], .unusedGrant, seconds: 60)
                let taken = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                    for writer in 0..<6 {
                        group.addTask {
                            let records = gateways[writer % 2]
                            try await records.keep(others.shuffled(), .unusedGrant, seconds: 60)
                            return try await records.take(.unusedGrant, by: "k")
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(taken.compactMap(\.self) == [[round]])
            }
        }
    }
}
