import Cryptography
import Locking
import Logging
import Pipeline
import Sealing
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Gateways that follow shared keys")
struct FollowedKeyRingTests {
    static let schedule = RotationSchedule(
        rotateEvery: nil, publishAhead: 600, keepPrevious: 86_400, isShared: true)
    static let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

    let records = MemoryKeyRings()
    let clock = ManualClock()

    func storage(_ purpose: KeyPurpose) throws -> SharedKeyRing {
        let key = try SealingKey(id: "one", Secret([UInt8](repeating: 1, count: 32)))
        return SharedKeyRing(purpose, records, sealedWith: SealingKeyRing(sealing: key))
    }

    func sealingService() async throws -> SealingKeyService {
        try await SealingKeyService(
            storage(.sealing), Self.schedule, logger: Self.logger, now: { [clock] in clock.read() })
    }

    func signingService(rotateEvery: Int64 = 86_400) async throws -> AssertionKeyService {
        let service = AssertionKeyService(
            storage: try storage(.assertion),
            schedule: RotationSchedule(rotateEvery: rotateEvery, publishAhead: 3600, keepPrevious: 86_400),
            logger: Self.logger, now: { [clock] in clock.read() }, publish: {})
        try await service.follow()
        return service
    }

    func rotate(_ purpose: KeyPurpose, discarding: DiscardedKeys = .none) async throws {
        let now = clock.read()
        _ = try await storage(purpose).update { ring in
            try ring?.rotate(now: now, for: purpose, isShared: true, discarding: discarding) {
                try NewKey.make(for: purpose)
            }
        }
    }

    // MARK: Sealing

    @Test("Gateways that start at once open what each of them seals")
    func start() async throws {
        let services = try await withThrowingTaskGroup(of: SealingKeyService.self) { group in
            for _ in 0..<6 { group.addTask { try await sealingService() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for one in services {
            for other in services { #expect(try Fixture.fits(one.keys, other.keys)) }
        }
    }

    @Test("Before and after each one follows a rotation, gateways open what each of them seals")
    func rotation() async throws {
        let (one, other) = (try await sealingService(), try await sealingService())
        let before = try await sealingService()
        func fit() throws -> Bool {
            try Fixture.fits(one.keys, other.keys) && Fixture.fits(other.keys, one.keys)
                && Fixture.fits(before.keys, one.keys)
        }
        for round in 0..<3 {
            clock.advance(600)
            try await rotate(.sealing)
            #expect(try fit(), "round \(round)")
            try await one.follow()
            #expect(try fit(), "round \(round): one has followed")
            try await other.follow()
            #expect(try fit(), "round \(round): both have followed")
        }
        #expect(try !Fixture.fits(one.keys, before.keys), "which has missed two rotations")
    }

    @Test("After a key leaks, the next one takes over, which every gateway knows already")
    func leaked() async throws {
        let (one, other) = (try await sealingService(), try await sealingService())
        let before = try await sealingService()
        try await rotate(.sealing, discarding: .current)
        try await one.follow()
        #expect(try Fixture.fits(one.keys, other.keys), "the other one has not followed")
        #expect(try !Fixture.fits(before.keys, one.keys))
        try await other.follow()
        #expect(try !Fixture.fits(before.keys, other.keys))
    }

    @Test("After a ring leaks, no key of it opens anything, the next one neither")
    func ringLeaked() async throws {
        let service = try await sealingService()
        let known = try #require(try await storage(.sealing).read())
        let before = try await sealingService()
        clock.advance(600)
        try await rotate(.sealing)
        try await before.follow()
        try await rotate(.sealing, discarding: .all)
        try await service.follow()
        let left = try #require(try await storage(.sealing).read())
        #expect(left.keys.map(\.state) == [.next, .current])
        #expect(Set(left.keys.map(\.id)).isDisjoint(with: known.keys.map(\.id)))
        #expect(try !Fixture.fits(before.keys, service.keys))
    }

    @Test("Previous keys go when all that they sealed has ended")
    func ended() async throws {
        let service = try await sealingService()
        let before = try await sealingService()
        clock.advance(600)
        try await rotate(.sealing)
        clock.advance(86_399)
        try await service.follow()
        #expect(try Fixture.fits(before.keys, service.keys))
        clock.advance(1)
        try await service.follow()
        #expect(try !Fixture.fits(before.keys, service.keys))
    }

    @Test("A database that is away or set back to nothing changes no key")
    func away() async throws {
        struct Away: Error {}
        let service = try await sealingService()
        let before = try await sealingService()
        records.fail(with: Away())
        await #expect(throws: Away.self) { try await service.follow() }
        #expect(try Fixture.fits(before.keys, service.keys))
        let newer = SealingKeyRing(sealing: try SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        let text = try SealedText.seal([1], as: .nonce, with: newer, poolID: "p")
        #expect(service.keys.mayLackKey(of: text) && service.error != nil)
        records.fail(with: nil)
        try await service.follow()
        #expect(!service.keys.mayLackKey(of: text) && service.error == nil)
        records[.sealing] = nil
        try await service.follow()
        #expect(try Fixture.fits(before.keys, service.keys))
        let later = try await sealingService()
        #expect(try Fixture.fits(service.keys, later.keys))
    }

    // MARK: Signing

    @Test("Gateways publish one key set, also when they start and when keys are rotated by age at once")
    func keySet() async throws {
        let services = try await withThrowingTaskGroup(of: AssertionKeyService.self) { group in
            for _ in 0..<6 { group.addTask { try await signingService() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for round in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for service in services { group.addTask { try await service.follow() } }
                try await group.waitForAll()
            }
            let documents = services.compactMap { $0.current?.document }
            #expect(documents.count == 6 && documents.allSatisfy { $0 == documents[0] }, "round \(round)")
            clock.advance(86_400)
        }
    }

    @Test("No gateway signs with a key before the others have published it for its time")
    func published() async throws {
        var services: [AssertionKeyService] = []
        for _ in 0..<3 { services.append(try await signingService(rotateEvery: 3600)) }
        // The first one follows each time, the others seldom, and still within the time.
        for step in 0..<200 {
            clock.advance(900)
            for (number, service) in services.enumerated() where step % (number + 1) == 0 {
                try await service.follow()
            }
            for signing in services.compactMap({ $0.current?.signing.id }) {
                #expect(services.allSatisfy { $0.current?.ids.contains(signing) == true }, "step \(step)")
            }
        }
        #expect(try #require(records[.assertion]).version > 40)
    }

    @Test("Of those who follow at once none brings back what was before")
    func inOrder() async throws {
        let seen = Ids()
        let followed = FollowedKeyRing(
            try storage(.audit), Self.schedule, logger: Self.logger, now: { [clock] in clock.read() },
            use: { ring, before in seen.add(ring.current?.id, after: before?.current?.id) })
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await followed.follow() } }
                try await group.waitForAll()
            }
            try await rotate(.audit)
        }
        try await followed.follow()
        #expect(seen.isChain && seen.count == 21)
        #expect(followed.ring == (try await storage(.audit).read()))
    }
}

/// The keys that were in use, each after the one before.
private final class Ids: Sendable {
    private let steps = Locked<[(id: String?, before: String?)]>([])

    func add(_ id: String?, after before: String?) { steps.withLock { $0.append((id, before)) } }

    var count: Int { steps.withLock { $0.count } }
    var isChain: Bool {
        steps.withLock { steps in
            let pairs = zip(steps, steps.dropFirst())
            return steps.first?.before == nil && pairs.allSatisfy { $0.id == $1.before && $0.id != nil }
        }
    }
}
