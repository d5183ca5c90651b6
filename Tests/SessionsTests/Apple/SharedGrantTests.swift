import Cryptography
import HTTPClient
import HTTPTypes
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

/// A sign-in that is tried again at another gateway than the first one.
@Suite("Apple's grants at several gateways")
struct SharedGrantTests {
    private typealias Apple = AppleFixture

    private let world: AppleSignInTests.World
    private let records = MemoryShortLived()

    init() throws { world = try AppleSignInTests.World() }

    private func gateway(
        _ fetcher: RecordedFetcher, isFailing: Bool = false,
        pause: @escaping @Sendable (Duration) async throws -> Void = { _ in throw CancellationError() }
    ) throws -> SessionEndpoints {
        let failing = FailingRecords(world.fixture.users)
        if isFailing { failing.failing.withLock { $0 = .writing } }
        let grants = try Apple.grants(
            world.fixture.users, fetcher, world.fixture.log, now: world.fixture.now,
            shared: SharedValues(records, sealingKeys: Fixture.ring()), pause: pause)
        return try world.fixture.endpoints(
            records: failing,
            apple: Apple.signIn(world.fixture.users, world.fixture.log, grants: grants, now: world.fixture.now))
    }

    private func storedToken() async throws -> String? {
        guard let user = try await world.user(), let record = try await world.tokens().first else { return nil }
        return try SealedAppleToken.open(
            record.token, userID: user.id, clientID: Apple.app, with: Fixture.ring()
        ).exposeText()
    }

    @Test("What Apple gave at one gateway is there when the sign-in is tried again at another")
    func otherGateway() async throws {
        let token = try Apple.identityToken()
        let first = RecordedFetcher(AppleSignInTests.granted("first"))
        let second = RecordedFetcher(AppleSignInTests.failure("invalid_grant"))
        let refused = try await world.signIn(token, code: Apple.code, at: gateway(first, isFailing: true))
        #expect(refused.status == .serviceUnavailable)
        let value = try #require(records.stored.first)
        #expect(!String(decoding: value, as: UTF8.self).contains("first"))
        #expect(try await world.signIn(token, code: Apple.code, at: gateway(second)).status == .ok)
        #expect(try await storedToken() == "first")
        #expect(await second.requests.isEmpty, "a code is exchanged once")
        #expect(records.stored.isEmpty)
    }

    @Test("What could not be stored for others is stored once the store is back")
    func later() async throws {
        let token = try Apple.identityToken()
        let pauses = Mutex<[Duration]>([])
        records.fail(true)
        let first = RecordedFetcher(AppleSignInTests.granted("first"))
        let gateway = try gateway(first, isFailing: true) { [records] pause in
            let count = pauses.withLock { pauses in
                pauses.append(pause)
                return pauses.count
            }
            if count == 3 { records.fail(false) }
        }
        #expect(try await world.signIn(token, code: Apple.code, at: gateway).status == .serviceUnavailable)
        while records.stored.isEmpty { await Task.yield() }
        #expect(pauses.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
        let second = RecordedFetcher(AppleSignInTests.failure("invalid_grant"))
        #expect(try await world.signIn(token, code: Apple.code, at: self.gateway(second)).status == .ok)
        #expect(try await storedToken() == "first")
        #expect(await second.requests.isEmpty)
    }

    @Test("While the store is away the same gateway has what Apple gave")
    func away() async throws {
        let token = try Apple.identityToken()
        records.fail(true)
        let fetcher = RecordedFetcher(AppleSignInTests.granted("first"))
        let failing = FailingRecords(world.fixture.users)
        failing.failing.withLock { $0 = .writing }
        let grants = try Apple.grants(
            world.fixture.users, fetcher, world.fixture.log, now: world.fixture.now,
            shared: SharedValues(records, sealingKeys: Fixture.ring()), pause: { _ in throw CancellationError() })
        let endpoints = try world.fixture.endpoints(
            records: failing,
            apple: Apple.signIn(world.fixture.users, world.fixture.log, grants: grants, now: world.fixture.now))
        #expect(try await world.signIn(token, code: Apple.code, at: endpoints).status == .serviceUnavailable)
        failing.failing.withLock { $0 = nil }
        #expect(try await world.signIn(token, code: Apple.code, at: endpoints).status == .ok)
        #expect(try await storedToken() == "first")
    }
}
