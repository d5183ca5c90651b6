import Encoding
import Logging
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Keys

/// How the list follows a database that several gateways share, and how old it may become.
@Suite("Following revocations that several gateways share")
struct RevocationFollowingTests {
    let clock = ManualClock()
    let published = Counter()

    final class Counter: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }
        func add() { number.withLock { $0 += 1 } }
    }

    /// A database that can be away, and that says what was read and kept.
    final class SharedRecords: RevocationRecords, RevocationChanges {
        struct Away: Error {}

        private struct State {
            var records: [RevocationRecord] = []
            var isAway = false
            var origin = "first"
            var readings: [ChangePosition?] = []
            var look: @Sendable () -> Void = {}
        }

        private let state = Mutex(State())

        let isShared = true
        let notice = ChangeNotice.poll
        var changes: any RevocationChanges { self }
        var readings: [ChangePosition?] { state.withLock { $0.readings } }
        var values: [String] { state.withLock { $0.records.map(\.value) } }

        func leave(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

        /// Calls `look` while the list is being read.
        func whileReading(_ look: @escaping @Sendable () -> Void) { state.withLock { $0.look = look } }

        /// Another server takes over, which has only the first so many records.
        func failOver(keeping count: Int) {
            state.withLock { state in
                state.records = Array(state.records.prefix(count))
                state.origin += "+"
            }
        }

        private func ask<Value>(_ body: (inout State) -> Value) throws -> Value {
            try state.withLock { state in
                guard !state.isAway else { throw Away() }
                return body(&state)
            }
        }

        func keep(_ records: [RevocationRecord]) async throws { try ask { $0.records += records } }
        func all(now: Int64) async throws -> [RevocationRecord] { try ask { $0.records } }
        func removeEnded(now: Int64) async throws {}

        func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading {
            state.withLock { $0.look }()
            return try ask { state in
                state.readings.append(position)
                let known = position?.origin == state.origin ? position.flatMap { Int($0.mark) } : nil
                return RevocationReading(
                    records: Array(state.records.dropFirst(known ?? 0)),
                    position: ChangePosition(origin: state.origin, mark: String(state.records.count)),
                    isWhole: known == nil)
            }
        }

        func signals() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    }

    private func service(
        _ records: SharedRecords, staleness: RevocationStaleness? = nil,
        whilePublishing look: @escaping @Sendable () -> Void = {}
    ) -> RevocationService {
        RevocationService(
            records: records, maximumCount: 5000,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), now: { [clock] in clock.read() },
            revocationTime: { [clock] in clock.read() }, staleness: staleness, uptime: { [clock] in clock.uptime },
            publish: { [published] in
                look()
                published.add()
            })
    }

    private func revocation(_ id: String, for seconds: Int64 = 1000) -> Revocation {
        Revocation(issuer: "i", .tokenID(id), endsAt: ManualClock.start + seconds)
    }

    private func isRevoked(_ id: String, by service: RevocationService) -> Bool {
        service.current.revokes(RevocationServiceTests.token(["jti": .string(id)], issuer: "i"))
    }

    @Test("What this gateway has revoked itself comes back from the database and changes nothing")
    func own() async throws {
        let records = SharedRecords()
        let (service, readings) = (service(records), Counter())
        service.afterReading { readings.add() }
        try await service.follow()
        try await service.revoke([revocation("a")])
        let generation = service.current.generation
        try await service.follow()
        #expect(service.current.generation == generation && published.count == 1)
        #expect(readings.count == 1, "the others may wait for it all the same")
        try await service.follow()
        #expect(readings.count == 1)
    }

    @Test("After a failure the whole list is read before anything else")
    func whole() async throws {
        let records = SharedRecords()
        let service = service(records)
        try await service.follow()
        let position = service.standing?.position
        records.leave(true)
        await #expect(throws: SharedRecords.Away.self) { try await service.follow() }
        records.leave(false)
        try await service.follow()
        try await service.follow()
        #expect(records.readings == [nil, nil, position])
    }

    @Test("What a fail-over has lost is stored again by whoever knows it, and what has ended is not")
    func failOver() async throws {
        let records = SharedRecords()
        let service = service(records)
        try await service.follow()
        try await service.revoke([revocation("kept")])
        try await service.revoke([revocation("lost"), revocation("ended", for: 10)])
        try await service.revoke([
            Revocation(issuer: "i", .otherSignIns("ada", before: 9, sparing: "o"), endsAt: ManualClock.start + 1000),
            Revocation(issuer: "i", .subject("ada", before: 5), endsAt: ManualClock.start + 1000),
        ])
        try await service.follow()
        records.failOver(keeping: 1)
        clock.advance(10)
        try await service.follow()
        #expect(records.values.sorted() == ["ada", "ada", "kept", "lost"])
        let other = self.service(records)
        try await other.follow()
        #expect(other.current.revocations(notIn: service.current).isEmpty)
        #expect(service.current.revocations(notIn: other.current) == [revocation("ended", for: 10)])
    }

    @Test("What was revoked while the database was away is stored when it is back")
    func away() async throws {
        let records = SharedRecords()
        let service = service(records)
        try await service.follow()
        records.leave(true)
        await #expect(throws: SharedRecords.Away.self) { try await service.revoke([revocation("a")]) }
        #expect(isRevoked("a", by: service))
        records.leave(false)
        try await service.follow()
        #expect(records.values == ["a"])
        let other = self.service(records)
        try await other.follow()
        #expect(isRevoked("a", by: other))
    }

    @Test("A list that is not read any more serves until it is too old, then no token counts until it is read")
    func tooOld() async throws {
        let records = SharedRecords()
        let service = service(records, staleness: RevocationStaleness(after: 300, closes: true))
        try await service.follow()
        records.leave(true)
        for (seconds, isTooOld) in [(299, false), (1, true), (60, true)] as [(Int64, Bool)] {
            clock.advance(seconds)
            await #expect(throws: SharedRecords.Away.self) { try await service.follow() }
            #expect(service.current.isTooOld == isTooOld && service.status.isTooOld == isTooOld)
        }
        #expect(service.status.age == 360 && published.count == 1)
        // A reload decides anew, also while the database is away.
        service.adopt(RevocationStaleness(after: 300, closes: false))
        await #expect(throws: SharedRecords.Away.self) { try await service.follow() }
        #expect(!service.current.isTooOld)
        service.adopt(RevocationStaleness(after: 300, closes: true))
        await #expect(throws: SharedRecords.Away.self) { try await service.follow() }
        // A revocation does not open it, and holds when it is open again.
        await #expect(throws: SharedRecords.Away.self) { try await service.revoke([revocation("a")]) }
        #expect(service.current.isTooOld)
        records.leave(false)
        let before = published.count
        try await service.follow()
        #expect(!service.current.isTooOld && service.status.age == 0 && published.count > before)
        #expect(isRevoked("a", by: service))
    }

    @Test("A process that was frozen lets no token count until it has read the list again")
    func frozen() async throws {
        let records = SharedRecords()
        let service = service(records, staleness: RevocationStaleness(after: 300, closes: true))
        try await service.follow()
        let wasTooOld = Mutex<[Bool]>([])
        records.whileReading { wasTooOld.withLock { $0.append(service.current.isTooOld) } }
        clock.advance(3600)
        try await service.follow()
        #expect(wasTooOld.withLock { $0 } == [true] && !service.current.isTooOld)
    }

    @Test("Other gateways hear of a reading when every event loop goes by it")
    func told() async throws {
        let records = SharedRecords()
        let known = Mutex<RevocationService?>(nil)
        let marks = Mutex<[String?]>([])
        let service = service(records) {
            let standing = known.withLock { $0 }?.standing
            marks.withLock { $0.append(standing?.position.mark) }
        }
        known.withLock { $0 = service }
        defer { known.withLock { $0 = nil } }
        try await service.follow()
        try await records.keep([RevocationRecord(revocation("a"))])
        try await service.follow()
        #expect(marks.withLock { $0 } == ["0"] && service.standing?.position.mark == "1")
        #expect(isRevoked("a", by: service))
    }

    @Test("Where verification goes on with an old list, its age is told and nothing else")
    func open() async throws {
        let records = SharedRecords()
        let service = service(records, staleness: RevocationStaleness(after: 300, closes: false))
        try await service.follow()
        records.leave(true)
        clock.advance(1000)
        await #expect(throws: SharedRecords.Away.self) { try await service.follow() }
        #expect(!service.current.isTooOld && service.status.age == 1000 && published.count == 0)
    }
}
