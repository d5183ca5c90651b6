import Cryptography
import Sealing
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Keys that several gateways share")
struct SharedKeyRingTests {
    static let one = try? SealingKey(id: "one", Secret([UInt8](repeating: 1, count: 32)))
    static let two = try? SealingKey(id: "two", Secret([UInt8](repeating: 2, count: 32)))

    let records = MemoryKeyRings()

    func ring(_ purpose: KeyPurpose = .assertion, _ keys: SealingKey?...) throws -> SharedKeyRing {
        let keys = keys.isEmpty ? [Self.one] : keys
        return SharedKeyRing(
            purpose, records,
            sealedWith: SealingKeyRing(
                sealing: try #require(keys[0]), opening: try keys.dropFirst().map { try #require($0) }))
    }

    /// The text of the error that is thrown.
    func failure<Value>(_ body: () async throws -> Value) async throws -> String {
        let error = await #expect(throws: SharedKeyError.self) { _ = try await body() }
        return try #require(error).description
    }

    // MARK: Sealed

    @Test("Keys are made once and found by every gateway", arguments: KeyPurpose.allCases)
    func made(purpose: KeyPurpose) async throws {
        #expect(try await ring(purpose).read() == nil)
        let made = try await ring(purpose).readOrMake(now: 5)
        #expect(try await ring(purpose).readOrMake(now: 6) == made)
        #expect(records[purpose]?.version == 1)
    }

    @Test("The database sees nothing of a key", arguments: KeyPurpose.allCases)
    func nothingToSee(purpose: KeyPurpose) async throws {
        let made = try await ring(purpose).readOrMake(now: 5)
        let sealed = String(decoding: try #require(records[purpose]).sealed, as: UTF8.self)
        #expect(sealed.hasPrefix("v2.one."))
        for key in made.keys { #expect(!sealed.contains(key.id) && !sealed.contains("PRIVATE")) }
    }

    @Test("A ring opens in its own place and as its own version alone")
    func bound() async throws {
        _ = try await ring(.sealing).readOrMake(now: 5)
        let sealed = try #require(records[.sealing]).sealed
        records[.audit] = KeyRingRecord(version: 1, sealed: sealed)
        #expect(try await failure { try await ring(.audit).read() }.contains("do not open with the key \"one\""))
        records[.sealing] = KeyRingRecord(version: 2, sealed: sealed)
        #expect(try await failure { try await ring(.sealing).read() }.contains("do not open"))
    }

    // MARK: The keys that seal

    @Test("A key that is missing in the configuration is named, and no new keys are made")
    func missingKey() async throws {
        _ = try await ring().readOrMake(now: 5)
        let before = records[.assertion]
        let text = try await failure { try await ring(.assertion, Self.two).readOrMake(now: 6) }
        #expect(text.contains("the assertion keys") && text.contains("\"one\""))
        #expect(text.contains("state.postgres.sealing_keys: add it there"))
        #expect(records[.assertion] == before)
    }

    @Test("Another key under the same name is told from a missing one, and no new keys are made")
    func wrongKey() async throws {
        _ = try await ring().readOrMake(now: 5)
        let before = records[.assertion]
        let other = try SealingKey(id: "one", Secret([UInt8](repeating: 9, count: 32)))
        let text = try await failure { try await ring(.assertion, other).readOrMake(now: 6) }
        #expect(text.contains("do not open with the key \"one\""))
        #expect(text.contains("enter the key that has sealed them"))
        #expect(records[.assertion] == before)
    }

    @Test("What is not sealed is damaged", arguments: ["", "keys", "v2.one", "v2..AAAA", "v2.a b.AAAA", "v1.one.AAAA"])
    func damaged(contents: String) async throws {
        records[.assertion] = KeyRingRecord(version: 1, sealed: Array(contents.utf8))
        let text = try await failure { try await ring().readOrMake(now: 6) }
        #expect(text.contains("are damaged; restore them from a backup"))
        #expect(records[.assertion]?.version == 1)
    }

    @Test("The first key seals at the next change, and all open")
    func firstSeals() async throws {
        let made = try await ring(.sealing, Self.one).readOrMake(now: 5)
        #expect(try await ring(.sealing, Self.two, Self.one).read() == made)
        // Reading changes nothing: gateways that do not have the second key yet go on.
        #expect(try await ring(.sealing, Self.one).read() == made)
        let rotated = try await ring(.sealing, Self.two, Self.one).update { ring in
            try ring?.rotate(now: 9, for: .sealing) { try NewKey.make(for: .sealing) }
        }
        #expect(try await ring(.sealing, Self.two).read() == rotated)
        #expect(try await failure { try await ring(.sealing, Self.one).read() }.contains("\"two\""))
    }

    @Test("Keys are sealed again without a change of their own, once")
    func resealed() async throws {
        #expect(try await !ring(.sealing, Self.two).reseal(), "there is nothing yet")
        let made = try await ring(.sealing, Self.one).readOrMake(now: 5)
        #expect(try await ring(.sealing, Self.two, Self.one).reseal())
        #expect(try await !ring(.sealing, Self.two, Self.one).reseal())
        #expect(try await ring(.sealing, Self.two).read() == made)
        #expect(records[.sealing]?.version == 2)
    }

    // MARK: Several writers

    @Test(
        "Of gateways that make the first keys at once one does, and all have its keys", arguments: KeyPurpose.allCases)
    func firstAtOnce(purpose: KeyPurpose) async throws {
        for _ in 0..<20 {
            records[purpose] = nil
            let rings = try await withThrowingTaskGroup(of: KeyRing.self) { group in
                for number in 0..<6 as Range<Int64> {
                    let ring = try ring(purpose)
                    group.addTask { try await ring.readOrMake(now: number) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(rings.allSatisfy { $0 == rings[0] })
            #expect(try await ring(purpose).read() == rings[0])
        }
    }

    @Test("Changes from many sides come one after another and none is lost")
    func changesAtOnce() async throws {
        _ = try await ring(.sealing).readOrMake(now: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 as ClosedRange<Int64> {
                let ring = try ring(.sealing)
                group.addTask {
                    _ = try await ring.update { ring in
                        try ring?.rotate(now: number, for: .sealing) { try NewKey.make(for: .sealing) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await ring(.sealing).read()?.keys.count == 9)
        #expect(records[.sealing]?.version == 9)
    }

    @Test("A database that is away is no reason for other keys")
    func away() async throws {
        struct Away: Error {}
        let made = try await ring().readOrMake(now: 5)
        records.fail(with: Away())
        await #expect(throws: Away.self) { try await ring().readOrMake(now: 6) }
        records.fail(with: nil)
        #expect(try await ring().read() == made)
    }
}
