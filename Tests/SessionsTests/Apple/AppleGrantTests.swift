import Accounts
import ClockSteps
import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Sealing
@testable import Sessions

@Suite("Consents that Apple gave")
struct AppleGrantTests {
    typealias Apple = AppleFixture
    typealias World = AppleSignInTests.World

    static let valid = FetchResponse(status: 200, body: Array(#"{"access_token":"a"}"#.utf8))

    /// A user who has signed in with both a session and Apple's refresh token.
    static func world(_ answers: FetchResponse...) async throws -> (World, UserRecord, token: Secret) {
        let world = try World()
        await world.fetcher.append([AppleSignInTests.granted()] + answers)
        let answer = try await world.signIn(Apple.identityToken(), code: Apple.code)
        return (world, try #require(try await world.user()), try #require(answer.token))
    }

    static func round(_ world: World) async throws {
        try await AppleGrantValidation(world.grants, world.fixture.sessions()).round()
    }

    @Test("A consent is asked after once a day, and what is good stays")
    func validation() async throws {
        let (world, user, token) = try await Self.world(Self.valid)
        world.fixture.pass(86_400)
        try await Self.round(world)
        #expect(await world.fetcher.requests.count == 1, "it is not time yet")
        world.fixture.pass(1)
        try await Self.round(world)
        try await Self.round(world)
        let requests = await world.fetcher.requests
        #expect(requests.count == 2)
        let form = AppleClientTests.form(requests[1])
        #expect(form["refresh_token"] == "apple-refresh-token" && form["client_id"] == Apple.app)
        #expect(world.fixture.verify(token) != nil)
        #expect(try await world.fixture.users.appleTokens(of: user.id).map(\.validatedAt) == [world.fixture.now])
    }

    @Test("It is asked after in its time again when a clock that was wrong is right", arguments: ClockSteps.passing)
    func validationAndSteps(steps: ClockSteps) async throws {
        let (world, user, token) = try await Self.world(Self.valid, Self.valid, Self.valid)
        try await world.fixture.take(steps) { try await Self.round(world) }
        world.fixture.pass(86_401)
        try await Self.round(world)
        #expect(try await world.fixture.users.appleTokens(of: user.id).map(\.validatedAt) == [world.fixture.now])
        #expect(world.fixture.verify(token) != nil)
    }

    @Test("A token that was sealed with an earlier key is sealed with the present one")
    func resealing() async throws {
        let (world, user, _) = try await Self.world(Self.valid, Self.valid)
        let old = try #require(try await world.tokens().first)
        let key = try SealingKey(Secret([UInt8](repeating: 9, count: 32)))
        let ring = try SealingKeyRing(sealing: key, opening: [SealingKey(Secret([UInt8](repeating: 7, count: 32)))])
        func round() async throws {
            world.fixture.pass(86_401)
            let grants = try Apple.grants(
                world.fixture.users, world.fetcher, world.fixture.log, sealingKeys: ring, now: world.fixture.now)
            await AppleGrantValidation(grants, try world.fixture.sessions()).round()
        }
        try await round()
        let renewed = try #require(try await world.tokens().first)
        #expect(renewed.token != old.token && renewed.storedAt == old.storedAt)
        let opened = try SealedAppleToken.open(
            renewed.token, userID: user.id, clientID: Apple.app, with: SealingKeyRing(sealing: key))
        #expect(opened.exposeText() == "apple-refresh-token")
        try await round()
        #expect(try await world.tokens().map(\.token) == [renewed.token])
    }

    @Test("A consent that was withdrawn ends the user's sessions and is asked after no more")
    func withdrawn() async throws {
        let (world, user, token) = try await Self.world(AppleSignInTests.failure("invalid_grant"))
        world.fixture.pass(86_401)
        #expect(world.fixture.verify(token) != nil)
        try await Self.round(world)
        #expect(world.fixture.verify(token) == nil)
        #expect(try await world.fixture.users.appleTokens(of: user.id).isEmpty)
        #expect(try await world.user() != nil, "who consents again is the same user")
    }

    @Test(
        "Nobody loses a session by a fault of Apple's or the gateway's",
        arguments: [
            AppleSignInTests.failure("server_error", status: 503), AppleSignInTests.failure("invalid_client"),
            FetchResponse(status: 200, body: []),
        ])
    func errors(_ answer: FetchResponse) async throws {
        let (world, user, token) = try await Self.world(answer)
        world.fixture.pass(86_401)
        try await Self.round(world)
        #expect(world.fixture.verify(token) != nil)
        #expect(try await world.fixture.users.appleTokens(of: user.id).count == 1)
        #expect(world.fixture.log.lines.contains { $0.contains("could not be validated") })
        world.fixture.pass(86_400)
        try await Self.round(world)
        #expect(await world.fetcher.requests.count == 2, "Apple is asked once a day all the same")
    }

    @Test("A token that cannot be unsealed is looked at once a day")
    func unsealable() async throws {
        let (world, _, _) = try await Self.world()
        let id = try Fixture.ring().sealingKey.id
        let ring = try SealingKeyRing(sealing: SealingKey(id: id, Secret([UInt8](repeating: 9, count: 32))))
        for (seconds, count) in [(86_401, 1), (601, 1), (86_400, 2)] as [(Int64, Int)] {
            world.fixture.pass(seconds)
            let grants = try Apple.grants(
                world.fixture.users, world.fetcher, world.fixture.log, sealingKeys: ring, now: world.fixture.now)
            await AppleGrantValidation(grants, try world.fixture.sessions()).round()
            #expect(world.fixture.log.lines.count { $0.contains("cannot be unsealed") } == count)
        }
    }

    /// Apple, which does not respond before the task is cancelled.
    struct UntilCancelled: Fetcher {
        let asked: AsyncStream<Void>.Continuation

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            asked.yield()
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                throw .cancelled
            }
            throw .timedOut
        }
    }

    @Test("A stop while Apple is asked is no error, and validates no consent")
    func stopped() async throws {
        let (world, user, _) = try await Self.world()
        for number in 1..<8 {
            await (try world.grants).keep(
                Secret("apple-refresh-token-\(number)"), of: user, clientID: "app-\(number)", requestID: "r-1")
        }
        #expect(try await world.tokens().count == 8)
        world.fixture.pass(86_401)
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let grants = try Apple.grants(
            world.fixture.users, UntilCancelled(asked: continuation), world.fixture.log, now: world.fixture.now)
        let validation = AppleGrantValidation(grants, try world.fixture.sessions())
        let before = world.fixture.log.lines.count
        let running = Task { await validation.round() }
        for await _ in asked { break }
        running.cancel()
        await running.value
        let lines = world.fixture.log.lines.dropFirst(before)
        #expect(lines.filter { !$0.hasPrefix("debug ") && !$0.hasPrefix("trace ") }.isEmpty)
        #expect(try await world.tokens().allSatisfy { $0.validatedAt < world.fixture.now })
    }

    @Test("A token that is sealed with a key which the gateway does not know yet is asked after once it does")
    func unknownKey() async throws {
        let (world, user, _) = try await Self.world(Self.valid)
        let ring = try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 9, count: 32))))
        func round() async throws {
            let grants = try Apple.grants(
                world.fixture.users, world.fetcher, world.fixture.log, sealingKeys: ring, now: world.fixture.now)
            await AppleGrantValidation(grants, try world.fixture.sessions()).round()
        }
        world.fixture.pass(86_401)
        try await round()
        #expect(await world.fetcher.requests.count == 1)
        ring.adopt(try Fixture.ring())
        world.fixture.pass(601)
        try await round()
        #expect(await world.fetcher.requests.count == 2)
        #expect(try await world.fixture.users.appleTokens(of: user.id).map(\.validatedAt) == [world.fixture.now])
    }

    @Test("What could not be revoked is still there, and asked after again ten minutes later")
    func notRevoked() async throws {
        let withdrawn = AppleSignInTests.failure("invalid_grant")
        let (world, user, token) = try await Self.world(withdrawn, withdrawn)
        world.fixture.pass(86_401)
        world.fixture.revocations.isFull.withLock { $0 = true }
        try await Self.round(world)
        #expect(try await world.fixture.users.appleTokens(of: user.id).count == 1)
        world.fixture.revocations.isFull.withLock { $0 = false }
        world.fixture.pass(600)
        try await Self.round(world)
        #expect(world.fixture.verify(token) != nil, "it is not time yet")
        world.fixture.pass(1)
        try await Self.round(world)
        #expect(world.fixture.verify(token) == nil)
        #expect(try await world.fixture.users.appleTokens(of: user.id).isEmpty)
    }

    /// Records of Apple's tokens with one step that fails.
    struct FailingTokens: AppleTokenRecords {
        enum Step: CaseIterable { case reading, replacing }
        struct Away: Error {}

        let records: StoredUsers
        let failing: Step

        func keep(_ record: AppleTokenRecord) async throws { try await records.keep(record) }

        func appleTokens(of userID: String) async throws -> [AppleTokenRecord] {
            if failing == .reading { throw Away() }
            return try await records.appleTokens(of: userID)
        }

        func claimAppleTokens(
            validatedBefore time: Int64, pause: Int64, now: Int64, limit: Int
        ) async throws -> [AppleTokenRecord] {
            try await records.claimAppleTokens(validatedBefore: time, pause: pause, now: now, limit: limit)
        }

        func replace(_ record: AppleTokenRecord, by text: [UInt8], validatedAt time: Int64) async throws {
            if failing == .replacing { throw Away() }
            try await records.replace(record, by: text, validatedAt: time)
        }

        func remove(_ record: AppleTokenRecord) async throws { try await records.remove(record) }

        func handOverAppleTokens(
            of userID: String, as message: @escaping AppleTokenHandOver, limit: Int
        ) async throws -> Bool {
            try await records.handOverAppleTokens(of: userID, as: message, limit: limit)
        }
    }

    @Test(
        "A withdrawn consent ends ten minutes later also where its own records fail",
        arguments: FailingTokens.Step.allCases)
    func storeAway(failing: FailingTokens.Step) async throws {
        let withdrawn = AppleSignInTests.failure("invalid_grant")
        let (world, user, token) = try await Self.world(withdrawn, withdrawn)
        world.fixture.pass(86_401)
        world.fixture.revocations.isFull.withLock { $0 = true }
        let grants = try Apple.grants(
            FailingTokens(records: world.fixture.users, failing: failing), world.fetcher, world.fixture.log,
            now: world.fixture.now)
        await AppleGrantValidation(grants, try world.fixture.sessions()).round()
        #expect(world.fixture.verify(token) != nil)
        world.fixture.revocations.isFull.withLock { $0 = false }
        world.fixture.pass(601)
        try await Self.round(world)
        #expect(world.fixture.verify(token) == nil)
        #expect(try await world.fixture.users.appleTokens(of: user.id).isEmpty)
    }

    @Test("Who is deleted has every consent taken back, or is not deleted")
    func deletion() async throws {
        let (world, user, token) = try await Self.world()
        let request = world.fixture.request(.sessionDeleteMe, token)
        let refused = await (try world.endpoints(outboxLimit: 0)).answer(request)
        #expect(refused.status.code == 503)
        #expect(try await world.user() != nil && world.fixture.verify(token) != nil)
        #expect(try await world.tokens().count == 1)
        #expect(await (try world.endpoints()).answer(request).status == .noContent)
        #expect(try await world.user() == nil)
        let revocation = try #require(try await world.revocations().first)
        #expect(revocation.userID == user.id && revocation.clientID == Apple.app)
        #expect(AppleRevocation(text: revocation.text) == revocation)
        #expect(!revocation.text.contains("apple-refresh-token"))
    }

    /// Apple, with something that happens while it is asked.
    struct Meanwhile: Fetcher {
        let fetcher: any Fetcher
        let happens: @Sendable () async -> Void

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            await happens()
            return try await fetcher.fetch(request)
        }
    }

    /// Asks after the consents of a user who signs in once more meanwhile, with another token of Apple's or none.
    private static func round(
        _ world: World, _ answer: FetchResponse, sealingKeys: SealingKeyRing? = nil, code: String?
    ) async throws -> Secret {
        world.fixture.pass(86_401)
        let signedIn = Mutex<Secret?>(nil)
        let during = Meanwhile(fetcher: RecordedFetcher(answer)) {
            let issued = JSON.number(JSONNumber(world.fixture.now - 5))
            let token = try? Apple.identityToken([
                ("iat", issued), ("exp", .number(JSONNumber(world.fixture.now + 600))),
            ])
            let answer = try? await world.signIn(token ?? "", code: code)
            signedIn.withLock { $0 = answer?.token }
        }
        let grants = try Apple.grants(
            world.fixture.users, during, world.fixture.log, sealingKeys: sealingKeys, now: world.fixture.now)
        await AppleGrantValidation(grants, try world.fixture.sessions()).round()
        return try #require(signedIn.withLock { $0 })
    }

    @Test("Who consents anew while the old consent is asked after keeps the new one, and every session")
    func consentedMeanwhile() async throws {
        let (world, user, old) = try await Self.world(AppleSignInTests.granted("another"))
        let new = try await Self.round(world, AppleSignInTests.failure("invalid_grant"), code: Apple.code)
        #expect(world.fixture.verify(new) != nil && world.fixture.verify(old) != nil)
        let withRecords = try #require(try await world.tokens().first)
        let opened = try SealedAppleToken.open(
            withRecords.token, userID: user.id, clientID: Apple.app, with: Fixture.ring())
        #expect(opened.exposeText() == "another")
    }

    @Test("Who signs in without a code while the consent ends has that session, and no other")
    func signedInMeanwhile() async throws {
        let (world, _, old) = try await Self.world()
        let new = try await Self.round(world, AppleSignInTests.failure("invalid_grant"), code: nil)
        #expect(world.fixture.verify(new) != nil && world.fixture.verify(old) == nil)
        #expect(try await world.tokens().isEmpty)
    }

    @Test("An old token that is sealed anew takes no new one's place")
    func resealedMeanwhile() async throws {
        let (world, user, _) = try await Self.world(AppleSignInTests.granted("another"))
        let key = try SealingKey(Secret([UInt8](repeating: 9, count: 32)))
        let ring = try SealingKeyRing(sealing: key, opening: [SealingKey(Secret([UInt8](repeating: 7, count: 32)))])
        _ = try await Self.round(world, Self.valid, sealingKeys: ring, code: Apple.code)
        let withRecords = try #require(try await world.tokens().first)
        let opened = try SealedAppleToken.open(withRecords.token, userID: user.id, clientID: Apple.app, with: ring)
        #expect(opened.exposeText() == "another")
    }

    /// Signs the user in once more when they are about to be deleted, behind whoever was told before.
    struct LateSignIn: UserCompanion {
        let world: World

        func willDelete(_ user: UserRecord) async throws {
            let token = try Apple.identityToken([("jti", "late")])
            #expect(try await world.signIn(token, code: Apple.code).status == .ok)
        }

        func export(of user: UserRecord) async throws -> JSONObject { [:] }
    }

    @Test("A consent that comes while its user is deleted is taken back with the others")
    func deletedMeanwhile() async throws {
        let (world, user, token) = try await Self.world(AppleSignInTests.granted("late"))
        let endpoints = try world.endpoints(companions: [LateSignIn(world: world)])
        #expect(await endpoints.answer(world.fixture.request(.sessionDeleteMe, token)).status == .noContent)
        #expect(try await world.user() == nil)
        let ring = try Fixture.ring()
        let texts = try await world.revocations().map { revocation in
            try SealedAppleToken.open(revocation.sealed, userID: user.id, clientID: Apple.app, with: ring).exposeText()
        }
        #expect(texts.sorted() == ["apple-refresh-token", "late"])
    }

    static let revocations: [(answer: FetchResponse, kind: AppleClientErrorKind?)] = [
        (FetchResponse(status: 200), nil), (AppleSignInTests.failure("invalid_grant"), nil),
        (AppleSignInTests.failure("invalid_request"), nil),
        (AppleSignInTests.failure("invalid_client"), .misconfigured),
        (AppleSignInTests.failure("server_error", status: 500), .unavailable),
    ]

    @Test("A revocation is tried again until Apple has it", arguments: revocations)
    func revocation(_ test: (answer: FetchResponse, kind: AppleClientErrorKind?)) async throws {
        let ring = try Fixture.ring()
        let sealed = try SealedAppleToken.seal(Secret("r"), userID: "u", clientID: Apple.app, with: ring)
        let fetcher = RecordedFetcher(test.answer)
        let revoker = AppleRevoker(client: try Apple.client(fetcher), sealingKeys: ring, logger: CapturedLog().logger)
        var kind: AppleClientErrorKind?
        do {
            try await revoker.revoke(AppleRevocation(userID: "u", clientID: Apple.app, sealed: sealed))
        } catch {
            kind = error.kind
        }
        #expect(kind == test.kind)
        #expect(AppleClientTests.form(await fetcher.requests.first)["token"] == "r")
    }

    @Test("A token that opens no more is given up, with a word in the log")
    func unopenable() async throws {
        let log = CapturedLog()
        let revoker = AppleRevoker(
            client: try Apple.client(RecordedFetcher()), sealingKeys: try Fixture.ring(), logger: log.logger)
        try await revoker.revoke(AppleRevocation(userID: "u", clientID: Apple.app, sealed: [1]))
        #expect(log.lines.contains { $0.hasPrefix("error") })
    }

    @Test("A revocation that is sealed with a key which the gateway does not know yet waits for it")
    func revocationAwaitsKey() async throws {
        let sealing = try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 9, count: 32))))
        let sealed = try SealedAppleToken.seal(Secret("r"), userID: "u", clientID: Apple.app, with: sealing)
        let revocation = AppleRevocation(userID: "u", clientID: Apple.app, sealed: sealed)
        let (ring, fetcher) = (try Fixture.ring(), RecordedFetcher(FetchResponse(status: 200)))
        let revoker = AppleRevoker(client: try Apple.client(fetcher), sealingKeys: ring, logger: CapturedLog().logger)
        await #expect(throws: AppleClientError(.unavailable, "unknown-sealing-key")) {
            try await revoker.revoke(revocation)
        }
        #expect(await fetcher.requests.isEmpty)
        ring.adopt(sealing)
        try await revoker.revoke(revocation)
        #expect(AppleClientTests.form(await fetcher.requests.first)["token"] == "r")
    }

    @Test("A text that is no revocation is none", arguments: ["", "{}", "[]", #"{"user_id":"u","client_id":"c"}"#])
    func noRevocation(_ text: String) {
        #expect(AppleRevocation(text: text) == nil)
    }
}
