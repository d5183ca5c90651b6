import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import PostgresStore

/// The pauses of a gateway, as a test wants them.
final class Pauses: Sendable {
    private let seen = Mutex<[Duration]>([])
    private let take: @Sendable (Duration, Int) async throws -> Void

    /// - Parameter take: gets the duration, and how many of the same there were before.
    init(
        _ take: @escaping @Sendable (Duration, Int) async throws -> Void = { duration, _ in
            try await Task.sleep(for: duration)
        }
    ) {
        self.take = take
    }

    /// Those of who waits for another gateway.
    var waits: [Duration] { seen.withLock { $0.filter { $0 != RefreshLeases.renewal } } }

    func pause(_ duration: Duration) async throws {
        let count = seen.withLock { seen in
            defer { seen.append(duration) }
            return seen.count { $0 == duration }
        }
        try await take(duration, count)
    }
}

extension RefreshLeaseStep {
    /// Whether the caller has the lease.
    fileprivate var isTaken: Bool {
        guard case .taken = self else { return false }
        return true
    }
}

/// Takes leases, and loses the answer.
private struct LosingAnswers: RefreshLeaseRecords {
    struct Lost: Error {}

    let records: any RefreshLeaseRecords

    func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep {
        #expect(try await records.take(lease).isTaken)
        throw Lost()
    }

    func renew(_ lease: RefreshLease) async throws -> Bool { try await records.renew(lease) }

    func release(_ lease: RefreshLease) async throws { try await records.release(lease) }
}

extension PostgresTests {
    @Suite("One call for a token")
    struct RefreshTurnSuite {
        /// Gateways of one database, with sessions of their own pool of connections and one Cognito.
        struct Scene {
            let database: RecordsDatabase
            let log = CapturedLog()

            init(isStored: Bool = true) async throws {
                database = try await RecordsDatabase()
                guard isStored else { return }
                let token = try Scene.sealed.sealed(with: Fixture.ring(), poolID: Fixture.poolID)
                let record = SessionRecord(
                    family: Scene.sealed.family, poolID: Fixture.poolID, subject: Fixture.username,
                    originID: "origin-1", deviceID: nil, platform: nil, generation: 0, token: token.expose(),
                    signedInAt: Fixture.now, refreshedAt: Fixture.now, endsAt: Fixture.now + 1000)
                #expect(try await PostgresSessions(database.store).begin(record, redeeming: nil))
            }

            static let sealed = SealedRefreshToken(
                clientID: Fixture.clientID, username: Fixture.username, subject: Fixture.username,
                originID: "origin-1", refreshToken: Secret("provider-refresh-token"), deviceID: nil, deviceKey: nil,
                family: [UInt8](repeating: 9, count: 16), generation: 0, issuedAt: Fixture.now,
                expiresAt: Fixture.now + 1000)

            static func request() throws -> AccountRequest {
                Fixture.refresh(try sealed.sealed(with: Fixture.ring(), poolID: Fixture.poolID))
            }

            func gateway(
                _ fetcher: any Fetcher, _ pauses: Pauses = Pauses(), now: Int64 = Fixture.now
            ) throws -> CognitoAccounts {
                CognitoAccounts(
                    settings: Fixture.settings(), sealingKeys: try Fixture.ring(), fetcher: fetcher,
                    records: PostgresSessions(database.other()), flow: AccountFlow(RecordedCalls()),
                    revoke: { _ in }, isRevoked: { _ in false }, revocationTime: { Fixture.now },
                    now: { now }, random: { SecureRandom.bytes($0) },
                    pause: { try await pauses.pause($0) }, logger: log.logger)
            }

            func stored() async throws -> SessionRecord? {
                try await PostgresSessions(database.store).session(Scene.sealed.family)
            }
        }

        @Test("Requests with one token at three gateways share one call, and get one answer", arguments: [true, false])
        func oneCall(isStored: Bool) async throws {
            let scene = try await Scene(isStored: isStored)
            let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
            let pauses = Pauses()
            let gateways = try (0..<3).map { _ in try scene.gateway(fetcher, pauses) }
            let request = try Scene.request()
            let answers = await withTaskGroup { group in
                for number in 0..<6 { group.addTask { await gateways[number % 3].answer(request) } }
                // The two gateways that do not ask have seen that another does.
                while pauses.waits.count < 2 { await Task.yield() }
                await fetcher.open()
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(await fetcher.calls == 1)
            #expect(answers.count == 6 && answers.allSatisfy { $0.status == .ok })
            #expect(Set(answers.map { $0.json["refresh_token"]?.stringValue }).count == 1)
            #expect(Set(answers.map { $0.json["access_token"]?.stringValue }).count == 1)
            #expect(try await scene.stored()?.generation == 1)
        }

        @Test("Who waits five seconds for another gateway is told to come again, and that gateway goes on")
        func patience() async throws {
            let scene = try await Scene()
            let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
            let (slow, pauses) = (try scene.gateway(fetcher), Pauses { _, _ in })
            let request = try Scene.request()
            async let first = slow.answer(request)
            while await fetcher.calls < 1 { await Task.yield() }
            let answer = try await scene.gateway(fetcher, pauses).answer(request)
            #expect(answer.status == .serviceUnavailable && answer.reason?.code == "refresh-under-way")
            #expect(answer.headers[.retryAfter] == "5")
            #expect(pauses.waits.reduce(.zero, +) == .seconds(5))
            await fetcher.open()
            #expect(await first.status == .ok)
            #expect(await fetcher.calls == 1)
        }

        @Test("The call of a gateway that has died is made by the one that waits", arguments: [true, false])
        func deadHolder(isStored: Bool) async throws {
            let scene = try await Scene(isStored: isStored)
            let store = scene.database.store
            let lease = RefreshLease(family: Scene.sealed.family, generation: 0, holder: [1])
            #expect(try await PostgresSessions(store).take(lease).isTaken)
            let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: "rotated"))
            let pauses = Pauses { duration, _ in
                if duration != RefreshLeases.renewal { return try await RefreshLeaseRecordsSuite.expireLeases(store) }
                try await Task.sleep(for: duration)
            }
            let answer = try await scene.gateway(fetcher, pauses).answer(Scene.request())
            #expect(answer.status == .ok && pauses.waits.count == 1)
            #expect(await fetcher.requests.count == 1)
        }

        @Test("A lease is renewed for as long as Cognito takes")
        func slowCognito() async throws {
            let scene = try await Scene()
            let store = scene.database.store
            let fetcher = RepeatingFetcher([.success(Fixture.tokens(refreshToken: "rotated"))], isOpen: false)
            let isShort = Mutex(false)
            let pauses = Pauses { _, count in
                guard count == 0 else { return try await Task.sleep(for: .seconds(1000)) }
                while !isShort.withLock({ $0 }) { await Task.yield() }
            }
            let gateway = try scene.gateway(fetcher, pauses)
            let request = try Scene.request()
            async let answer = gateway.answer(request)
            await fetcher.awaitCall()
            try await RefreshLeaseRecordsSuite.expireLeases(store)
            isShort.withLock { $0 = true }
            let isLeased = "SELECT 1 AS one FROM sessions WHERE lease_ends_at > now() + interval '5 seconds'"
            while try await store.rows(isLeased).isEmpty { await Task.yield() }
            await fetcher.open()
            #expect(await answer.status == .ok)
            #expect(try await store.rows("SELECT 1 AS one FROM sessions WHERE lease_holder IS NULL").count == 1)
        }

        @Test("Of two successors, for one of which a lease had ended, one is stored and both gateways give it")
        func lostLease() async throws {
            let scene = try await Scene()
            let slow = GatedFetcher(Fixture.tokens(refreshToken: "late"))
            let quick = RecordedFetcher(Fixture.tokens(refreshToken: "early"))
            // On a busy machine its lease might be renewed before the other one has asked.
            let renewsNothing = Pauses { duration, _ in
                try await Task.sleep(for: duration == RefreshLeases.renewal ? .seconds(3600) : duration)
            }
            let gateway = try scene.gateway(slow, renewsNothing)
            let request = try Scene.request()
            async let late = gateway.answer(request)
            while await slow.calls < 1 { await Task.yield() }
            try await RefreshLeaseRecordsSuite.expireLeases(scene.database.store)
            let early = try await scene.gateway(quick).answer(request)
            await slow.open()
            let answers = await [late, early]
            #expect(answers.map(\.status) == [.ok, .ok])
            #expect(answers[0].json["refresh_token"] == answers[1].json["refresh_token"])
            let stored = try #require(try await scene.stored())
            let text = try #require(answers[0].json["refresh_token"]?.stringValue)
            #expect(stored.generation == 1 && stored.token == Array(text.utf8))
        }

        @Test("After a call that gave nothing the next gateway asks at once")
        func failure() async throws {
            let scene = try await Scene()
            let pauses = Pauses()
            for answer in [
                Fixture.failure("TooManyRequestsException"), Fixture.failure("ResourceNotFoundException"),
                Fixture.tokens(refreshToken: "rotated"),
            ] {
                let fetcher = RecordedFetcher(answer)
                _ = try await scene.gateway(fetcher, pauses).answer(Scene.request())
                #expect(await fetcher.requests.count == 1)
            }
            #expect(pauses.waits.isEmpty)
            #expect(try await scene.stored()?.generation == 1)
        }

        @Test("After a successor that could not be stored the next token waits for nobody")
        func unstored() async throws {
            let scene = try await Scene()
            let store = scene.database.store
            for statement in [
                """
                CREATE FUNCTION full() RETURNS trigger AS
                    $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$ LANGUAGE plpgsql
                """,
                """
                CREATE TRIGGER full_disk BEFORE UPDATE ON sessions FOR EACH ROW
                    WHEN (NEW.generation > OLD.generation) EXECUTE FUNCTION full()
                """,
            ] { try await store.run(statement) }
            let gateway = try scene.gateway(RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
            let answer = await gateway.answer(try Scene.request())
            #expect(answer.status == .ok)
            #expect(try await scene.stored()?.generation == 0)
            let isFree = "SELECT 1 AS one FROM sessions WHERE lease_holder IS NULL"
            while try await store.rows(isFree).isEmpty { await Task.yield() }
            try await store.run("DROP TRIGGER full_disk ON sessions")
            let pauses = Pauses()
            let next = Fixture.refresh(Secret(try #require(answer.json["refresh_token"]?.stringValue)))
            let other = try scene.gateway(RecordedFetcher(Fixture.tokens(refreshToken: "rotated again")), pauses)
            #expect(await other.answer(next).status == .ok)
            #expect(pauses.waits.isEmpty)
            #expect(try await scene.stored()?.generation == 2)
        }

        @Test("A lease that was taken just when the connection was lost is released")
        func lostTake() async throws {
            let scene = try await Scene()
            let records = PostgresSessions(scene.database.store)
            let lease = RefreshLease(family: Scene.sealed.family, generation: 0, holder: [1])
            let turns = RefreshTurns(records: LosingAnswers(records: records)) { _ in }
            await #expect(throws: LosingAnswers.Lost.self) { try await turns.turn(lease, scene.log.logger) }
            let isFree = "SELECT 1 AS one FROM sessions WHERE lease_holder IS NULL"
            while try await scene.database.store.rows(isFree).isEmpty { await Task.yield() }
        }

        @Test("While nothing can be taken, only so many leases are released in the background")
        func manyLost() async throws {
            struct Away: RefreshLeaseRecords {
                struct Lost: Error {}
                func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep { throw Lost() }
                func renew(_ lease: RefreshLease) async throws -> Bool { throw Lost() }
                func release(_ lease: RefreshLease) async throws { throw Lost() }
            }
            let pauses = Pauses { _, _ in try await Task.sleep(for: .seconds(1000)) }
            let turns = RefreshTurns(records: Away()) { try await pauses.pause($0) }
            let lease = RefreshLease(family: [1], generation: 0, holder: [1])
            for _ in 0..<3 * RefreshTurns.releasesAtOnce {
                await #expect(throws: Away.Lost.self) { try await turns.turn(lease, CapturedLog().logger) }
            }
            while pauses.waits.count < RefreshTurns.releasesAtOnce { await Task.yield() }
            for _ in 0..<1000 { await Task.yield() }
            #expect(pauses.waits.count == RefreshTurns.releasesAtOnce)
        }

        @Test("A client that hangs up ends neither the call nor the wait for another gateway's")
        func hangUp() async throws {
            let scene = try await Scene()
            let (fetcher, pauses) = (GatedFetcher(Fixture.tokens(refreshToken: "rotated")), Pauses())
            let (first, second) = (try scene.gateway(fetcher), try scene.gateway(fetcher, pauses))
            let request = try Scene.request()
            let asking = Task { await first.answer(request) }
            while await fetcher.calls < 1 { await Task.yield() }
            let waiting = Task { await second.answer(request) }
            let other = Task { await second.answer(request) }
            while pauses.waits.isEmpty { await Task.yield() }
            asking.cancel()
            waiting.cancel()
            await fetcher.open()
            #expect(await other.value.status == .ok)
            #expect(await asking.value.status == .ok)
            #expect(await fetcher.calls == 1)
        }

        @Test("Who waits for a turn ends when the task is cancelled, and leaves the lease to its holder")
        func cancelledWait() async throws {
            let scene = try await Scene()
            let records = PostgresSessions(scene.database.store)
            let lease = RefreshLease(family: Scene.sealed.family, generation: 0, holder: [1])
            #expect(try await records.take(lease).isTaken)
            let pauses = Pauses { _, _ in try await Task.sleep(for: .seconds(1000)) }
            let turns = RefreshTurns(records: records, pause: { try await pauses.pause($0) })
            let waiting = Task {
                try await turns.turn(
                    RefreshLease(family: lease.family, generation: 0, holder: [2]), scene.log.logger)
            }
            while pauses.waits.isEmpty { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(try await records.renew(lease))
        }
    }
}
