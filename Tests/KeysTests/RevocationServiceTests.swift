import ClockSteps
import Encoding
import Foundation
import Logging
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Revocation service")
struct RevocationServiceTests {
    static let issuer = "https://issuer.example"
    let clock = ManualClock()

    /// Where the lists go that the loops would get.
    final class Loops: Sendable {
        private let told = Mutex(0)
        var count: Int { told.withLock { $0 } }
        func report() { told.withLock { $0 += 1 } }
    }

    let loops = Loops()

    func service(
        _ records: any RevocationRecords, maximumCount: Int = 100,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    ) -> RevocationService {
        RevocationService(
            records: records, maximumCount: maximumCount, logger: logger, now: { [clock] in clock.read() },
            revocationTime: { [clock] in clock.read() }, publish: { [loops] in loops.report() })
    }

    static func token(
        _ claims: JSONObject, subject: String = "ada", issuer: String = RevocationServiceTests.issuer
    ) -> VerifiedToken {
        VerifiedToken(
            issuer: issuer, issuerName: "i", subject: subject, tokenUse: .access, clientID: "c",
            expires: ManualClock.start + 60, claims: claims, keyID: "k")
    }

    func revocation(_ target: Revocation.Target, for seconds: Int64 = 3600) -> Revocation {
        Revocation(issuer: Self.issuer, target, endsAt: ManualClock.start + seconds)
    }

    static func withStore(_ body: (@Sendable () throws -> StoredRevocations, String) async throws -> Void) async throws
    {
        try await withDirectory { path in
            try await body({ StoredRevocations(try GatewayStore.open(in: path)) }, path)
        }
    }

    @Test("Of two reloads the later one's limit holds, as each is adopted at once")
    func adopted() async throws {
        try await Self.withStore { open, _ in
            let service = service(try open(), maximumCount: 2)
            for limit in [9, 1, 5] {
                service.adopt(maximumCount: limit)
                #expect(service.status.limit == limit)
            }
        }
    }

    static let all: [(Revocation.Target, JSONObject)] = [
        (.originID("o"), ["origin_jti": "o"]), (.tokenID("t"), ["jti": "t"]), (.session("s"), ["sid": "s"]),
        (.subject("ada", before: 100), ["auth_time": 100]),
        (.otherSignIns("ada", before: 100, sparing: "own"), ["auth_time": 100, "origin_jti": "other"]),
    ]

    @Test("What is spared by several revocations is the same after a restart")
    func spared() async throws {
        try await Self.withStore { open, _ in
            let targets: [Revocation.Target] = [
                .otherSignIns("ada", before: 100, sparing: "first"), .subject("ada", before: 50),
                .otherSignIns("ada", before: 200, sparing: "second"),
            ]
            let service = service(try open())
            for target in targets { try await service.revoke([revocation(target)]) }
            let restarted = self.service(try open())
            try await restarted.follow()
            for list in [service.current, restarted.current] {
                #expect(list.count == 1)
                for (time, origin, isMeant) in [
                    (150, "second", false), (100, "second", true), (40, "second", true), (90, "first", true),
                    (150, "first", true), (201, "first", false),
                ] as [(Int, String, Bool)] {
                    let claims: JSONObject = ["auth_time": .number(JSONNumber(time)), "origin_jti": .string(origin)]
                    #expect(list.revokes(Self.token(claims)) == isMeant, "\(time) \(origin)")
                }
            }
        }
    }

    @Test("When a revocation has returned, every loop was told, and a restart keeps it", arguments: all)
    func durable(target: Revocation.Target, claims: JSONObject) async throws {
        try await Self.withStore { open, path in
            let service = service(try open())
            try await service.follow()
            #expect(loops.count == 0 && !service.current.revokes(Self.token(claims)))
            try await service.revoke([revocation(target)])
            #expect(loops.count == 1 && service.current.revokes(Self.token(claims)))
            let restarted = self.service(try open())
            #expect(!restarted.current.revokes(Self.token(claims)))
            try await restarted.follow()
            #expect(restarted.current.revokes(Self.token(claims)))
            #expect(!restarted.current.revokes(Self.token(["auth_time": 101, "jti": "x"], subject: "bob")))
            #expect(try FileMode.of(path + "/gatehouse.sqlite") == 0o600)
        }
    }

    @Test("What another process revokes is followed; what this one did is not read again")
    func foreign() async throws {
        try await Self.withStore { open, _ in
            let (service, other) = (service(try open()), self.service(try open()))
            try await service.follow()
            try await service.revoke([revocation(.tokenID("mine"))])
            let generation = service.current.generation
            try await service.follow()
            #expect(service.current.generation == generation)
            try await other.revoke([revocation(.tokenID("theirs"))])
            #expect(!service.current.revokes(Self.token(["jti": "theirs"])))
            try await service.follow()
            #expect(service.current.revokes(Self.token(["jti": "theirs"])))
            #expect(service.current.revokes(Self.token(["jti": "mine"])))
        }
    }

    @Test("What has ended is forgotten, here and in the store; a longer one for the same tokens is kept")
    func ended() async throws {
        try await Self.withStore { open, _ in
            let records = try open()
            let service = service(records)
            try await service.revoke([revocation(.tokenID("short"), for: 10), revocation(.tokenID("long"), for: 10)])
            try await service.revoke([revocation(.tokenID("long"), for: 1000)])
            clock.advance(10)
            try await service.removeEnded()
            #expect(service.status.count == 1)
            #expect(!service.current.revokes(Self.token(["jti": "short"])))
            #expect(service.current.revokes(Self.token(["jti": "long"])))
            #expect(try await records.all(now: 0).map(\.value) == ["long"])
        }
    }

    /// With the store's clock, as the gateway has it.
    func service(at path: String) async throws -> RevocationService {
        let store = try GatewayStore.open(in: path, now: clock.read())
        try store.followPruningClock(now: clock.read()) { [clock] in clock.uptime }
        try await store.keepPruningClock(now: clock.read())
        return RevocationService(
            records: StoredRevocations(store), maximumCount: 100,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            now: { [clock] in store.pruningTime(clock.read()) },
            revocationTime: { [clock] in store.latestTime(clock.read()) }, publish: {})
    }

    @Test(
        "A revocation lasts as long as it was to, whatever the clock is meanwhile, and over restarts",
        arguments: ClockSteps.allCases, [false, true])
    func steps(steps: ClockSteps, restarts: Bool) async throws {
        try await withDirectory { path in
            var service = try await service(at: path)
            try await service.revoke([
                revocation(.tokenID("t"), for: 100), revocation(.subject("ada", before: ManualClock.start)),
            ])
            let later = JSON.number(JSONNumber(ManualClock.start + 1))
            let claims: [JSONObject] = [["jti": "t", "auth_time": later], ["auth_time": 1]]
            func isRevoked() -> [Bool] { claims.map { service.current.revokes(Self.token($0)) } }
            try await clock.take(steps) {
                if restarts { service = try await self.service(at: path) }
                try await service.follow()
                try await service.removeEnded()
                #expect(isRevoked() == [true, true])
            }
            clock.advance(99)
            if restarts { service = try await self.service(at: path) }
            try await service.follow()
            try await service.removeEnded()
            #expect(isRevoked() == [true, true])
            clock.set(error: 0)
            // After a restart it is not known at first how long nothing ran.
            clock.advance(restarts ? 101 : 1)
            try await service.removeEnded()
            #expect(isRevoked() == [false, true])
        }
    }

    @Test("The time by which tokens are revoked is never behind", arguments: ClockSteps.allCases)
    func revocationTime(steps: ClockSteps) async throws {
        try await withDirectory { path in
            let service = try await service(at: path)
            clock.advance(30)
            await clock.take(steps) {
                clock.advance(30)
                #expect(service.revocationTime() == max(clock.uptime, clock.read()))
            }
            clock.advance(30)
            #expect(service.revocationTime() == clock.uptime, "nobody who signs in later is kept out")
        }
    }

    @Test(
        "A subject revoked twice stays revoked up to the later time, also after a restart",
        arguments: [[50, 100], [100, 50]])
    func subjectTwice(times: [Int64]) async throws {
        try await Self.withStore { open, _ in
            let service = service(try open())
            for time in times { try await service.revoke([revocation(.subject("ada", before: time))]) }
            let restarted = self.service(try open())
            try await restarted.follow()
            for list in [service.current, restarted.current] {
                #expect(list.revokes(Self.token(["auth_time": 100])))
                #expect(!list.revokes(Self.token(["auth_time": 101])))
            }
        }
    }

    @Test("More than the limit is refused and counted, unless something has ended")
    func bounded() async throws {
        try await Self.withStore { open, _ in
            let service = service(try open(), maximumCount: 2)
            try await service.revoke([revocation(.tokenID("1"), for: 10), revocation(.tokenID("2"))])
            await #expect(throws: RevocationError.full) { try await service.revoke([revocation(.tokenID("3"))]) }
            #expect(service.status.count == 2 && service.status.failures == 1)
            clock.advance(10)
            try await service.revoke([revocation(.tokenID("3"))])
            #expect(service.status.count == 2)
            #expect(service.current.revokes(Self.token(["jti": "3"])))
        }
    }

    @Test("Beyond the limit an eighth is left for what means a whole user; what is held already needs no room")
    func reserve() async throws {
        try await Self.withStore { open, _ in
            let service = service(try open(), maximumCount: 16)
            try await service.revoke((0..<16).map { revocation(.session("\($0)")) })
            await #expect(throws: RevocationError.full) { try await service.revoke([revocation(.session("new"))]) }
            try await service.revoke([revocation(.session("3"), for: 7200)])
            for user in ["ada", "ben"] { try await service.revoke([revocation(.subject(user, before: 100))]) }
            await #expect(throws: RevocationError.full) {
                try await service.revoke([revocation(.subject("eve", before: 100))])
            }
            try await service.revoke([revocation(.subject("ada", before: 200))])
            #expect(service.status.count == 18 && service.status.limit == 16)
            #expect(service.current.revokes(Self.token(["auth_time": 150])))
        }
    }

    @Test("While the disk does not respond, a revocation holds, and the caller gets an error soon")
    func diskStalls() async throws {
        try await withDirectory { path in
            let disk = DispatchSemaphore(value: 0)
            let store = try Store(
                path: "\(path)/gatehouse.sqlite", migrations: StoredRevocations.migrations, response: .milliseconds(50)
            ) { _ in
                disk.wait()
                disk.signal()
            }
            let service = service(StoredRevocations(store))
            await #expect(throws: StoreError.noResponse) { try await service.revoke([revocation(.tokenID("t"))]) }
            #expect(service.current.revokes(Self.token(["jti": "t"])) && loops.count == 1)
            #expect(store.writeError == "the disk does not respond")
            // It is committed, and can be read.
            try await service.follow()
            #expect(service.hasUnstored)
            disk.signal()
            while store.writeError != nil { await store.tryWriting() }
            try await service.follow()
            #expect(!service.hasUnstored)
        }
    }

    /// A store whose disk is full.
    struct BrokenRecords: RevocationRecords, RevocationChanges {
        struct Full: Error {}
        let isShared = false
        let notice = ChangeNotice.poll
        var changes: any RevocationChanges { self }
        var whileKeeping: @Sendable () -> Void = {}
        func keep(_ records: [RevocationRecord]) async throws {
            whileKeeping()
            throw Full()
        }
        func all(now: Int64) async throws -> [RevocationRecord] { throw Full() }
        func removeEnded(now: Int64) async throws { throw Full() }
        func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading { throw Full() }
        func signals() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    }

    @Test("What cannot be kept holds before that is known, and until a restart, and the caller is told")
    func reportNotStored() async throws {
        let service = service(BrokenRecords(whileKeeping: { [loops] in #expect(loops.count == 1) }))
        await #expect(throws: BrokenRecords.Full.self) { try await service.revoke([revocation(.tokenID("t"))]) }
        #expect(service.current.revokes(Self.token(["jti": "t"])))
        #expect(loops.count == 1 && service.status.failures == 1)
        await #expect(throws: BrokenRecords.Full.self) { try await service.follow() }
    }

    /// A store whose disk fills up and has room again.
    final class FillingRecords: RevocationRecords {
        struct Full: Error {}
        private let records: StoredRevocations
        private let isFull = Mutex(false)

        init(_ records: StoredRevocations) {
            self.records = records
        }

        var changes: any RevocationChanges { records.changes }
        func fill(_ isFull: Bool) { self.isFull.withLock { $0 = isFull } }

        func keep(_ records: [RevocationRecord]) async throws {
            guard !isFull.withLock({ $0 }) else { throw Full() }
            try await self.records.keep(records)
        }

        func all(now: Int64) async throws -> [RevocationRecord] { try await records.all(now: now) }
        func removeEnded(now: Int64) async throws { try await records.removeEnded(now: now) }
    }

    @Test("What could not be kept is kept as soon as the disk has room; until then the list is read all the same")
    func keptLater() async throws {
        try await Self.withStore { open, _ in
            let (records, log) = (FillingRecords(try open()), CapturedLog())
            let service = service(records, logger: log.logger)
            try await service.follow()
            records.fill(true)
            let lost = revocation(.tokenID("t"))
            await #expect(throws: FillingRecords.Full.self) { try await service.revoke([lost]) }
            try await self.service(try open()).revoke([revocation(.tokenID("other"))])
            for _ in 0..<3 { try await service.follow() }
            #expect(service.hasUnstored && service.current.revokes(Self.token(["jti": "other"])))
            let failures = log.lines.filter { $0.contains("revocations that the store lacks cannot be stored") }
            #expect(failures.count == 1, "\(log.lines)")
            records.fill(false)
            try await service.follow()
            #expect(!service.hasUnstored)
            let restarted = self.service(try open())
            try await restarted.follow()
            #expect(restarted.current.revokes(Self.token(["jti": "t"])))
        }
    }
}
