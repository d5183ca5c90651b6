import Cryptography
import Sealing
import Store
import Testing

@testable import Keys
@testable import PostgresStore

extension PostgresTests {
    @Suite("Key rings")
    struct KeyRingsOfGateways {
        private static let rounds = 40

        /// A gateway's ring, on connections of its own.
        private static func ring(_ store: PostgresStore, _ purpose: KeyPurpose, key: String = "one") throws
            -> SharedKeyRing
        {
            let key = try SealingKey(id: key, Secret([UInt8](repeating: 1, count: 32)))
            return SharedKeyRing(purpose, PostgresKeyRings(store), sealedWith: SealingKeyRing(sealing: key))
        }

        @Test("Each purpose has a ring of its own, which comes back as it was put")
        func kept() async throws {
            let database = try await RecordsDatabase()
            let rings = PostgresKeyRings(database.store)
            for (number, purpose) in KeyPurpose.allCases.enumerated() {
                #expect(try await rings.keyRing(purpose) == nil)
                let record = KeyRingRecord(version: 1, sealed: [0, UInt8(number), 255])
                #expect(try await rings.replace(with: record, for: purpose))
                #expect(try await PostgresKeyRings(database.other()).keyRing(purpose) == record)
            }
        }

        @Test("A version follows the one before and no other, and only the newest is there")
        func versions() async throws {
            let store = try await RecordsDatabase().store
            let rings = PostgresKeyRings(store)
            func put(_ version: Int64) async throws -> Bool {
                try await rings.replace(with: KeyRingRecord(version: version, sealed: [7]), for: .audit)
            }
            let steps: [(version: Int64, isTaken: Bool)] = [
                (2, false), (0, false), (1, true), (1, false), (3, false), (2, true), (1, false), (2, false), (3, true),
            ]
            for step in steps { #expect(try await put(step.version) == step.isTaken, "\(step.version)") }
            #expect(try await rings.keyRing(.audit)?.version == 3)
            #expect(try await store.rows("SELECT 1 FROM key_rings").count == 1)
            #expect(try await rings.keyRing(.limits) == nil)
        }

        @Test("Of several writers of a version one is taken, the first version too")
        func oneWriter() async throws {
            let fixture = try await RecordsFixture(PostgresKeyRings.migrations)
            for round in 1...Int64(RecordsFixture.rounds) {
                let taken = try await fixture.race { store, writer in
                    let record = KeyRingRecord(version: round, sealed: [UInt8(writer)])
                    return try await PostgresKeyRings(store).replace(with: record, for: .sealing) ? record : nil
                }.compactMap { $0 }
                #expect(taken.count == 1)
                #expect(try await PostgresKeyRings(fixture.stores[1]).keyRing(.sealing) == taken.first)
            }
        }

        @Test("Of gateways that make the first keys at once one does, and all use its keys")
        func firstKeys() async throws {
            let fixture = try await RecordsFixture(PostgresKeyRings.migrations)
            for round in 0..<Self.rounds {
                let purpose = KeyPurpose.allCases[round % KeyPurpose.allCases.count]
                try await fixture.stores[0].run("DELETE FROM key_rings")
                let rings = try await fixture.race { store, writer in
                    try await Self.ring(store, purpose).readOrMake(now: Int64(writer))
                }
                #expect(rings.allSatisfy { $0 == rings[0] }, "round \(round)")
                #expect(try await Self.ring(fixture.stores[1], purpose).read() == rings[0])
            }
        }

        @Test("Rotations by several at once are all done, one after another")
        func rotations() async throws {
            let fixture = try await RecordsFixture(PostgresKeyRings.migrations)
            _ = try await Self.ring(fixture.stores[0], .sealing).readOrMake(now: 0)
            let rotated = try await fixture.race { store, writer in
                try await Self.ring(store, .sealing).update { ring in
                    try ring?.rotate(now: Int64(writer), for: .sealing) { try NewKey.make(for: .sealing) }
                }
            }
            let left = try #require(try await Self.ring(fixture.stores[1], .sealing).read())
            #expect(left.keys.count == RecordsFixture.writers + 1)
            #expect(Set(rotated.compactMap(\.current?.id)).isSubset(of: left.keys.map(\.id)))
            #expect(try await PostgresKeyRings(fixture.stores[0]).keyRing(.sealing)?.version == 7)
        }

        @Test("A key that the configuration lacks is named, and the keys stay as they are")
        func missingKey() async throws {
            let store = try await RecordsDatabase().store
            let made = try await Self.ring(store, .assertion).readOrMake(now: 5)
            let error = await #expect(throws: SharedKeyError.self) {
                try await Self.ring(store, .assertion, key: "two").readOrMake(now: 6)
            }
            #expect(error?.description.contains("sealed with the key \"one\", which is missing") == true)
            #expect(try await Self.ring(store, .assertion).read() == made)
        }
    }
}
