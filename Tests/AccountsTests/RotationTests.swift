import ClockSteps
import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Sealing
import TestSupport
import Testing

@testable import Accounts
@testable import Store

@Suite("Rotation of refresh tokens")
struct RotationTests {
    /// Accounts at one moment, over records and revocations that go on from one to the next.
    private struct Scene {
        let records: StoredSessions
        let revocations = RecordedRevocations()

        private let store: Store

        init() throws {
            store = try Store(
                path: ":memory:",
                migrations: StoredSessions.migrations + StoredUsers.migrations + PruningClock.migrations)
            records = StoredSessions(store)
        }

        /// The clock goes wrong, while a gateway tidies up and others sign in.
        func take(_ steps: ClockSteps) async throws {
            try store.followPruningClock(now: Fixture.now) { Fixture.now }
            for (number, error) in steps.errors.enumerated() {
                let time = Fixture.now + error
                try await records.removeEnded(now: time)
                try await records.begin(
                    SessionRecord(
                        family: [UInt8(number)], poolID: Fixture.poolID, subject: "ben", originID: nil, deviceID: nil,
                        platform: nil, generation: 0, token: [1], signedInAt: time, refreshedAt: time,
                        endsAt: time + 1000))
            }
        }

        func refresh(_ token: Secret, at time: Int64 = Fixture.now, _ fetcher: RecordedFetcher) async throws
            -> AccountAnswer
        {
            try await Fixture.accounts(fetcher, now: time, records: records, revocations: revocations)
                .answer(Fixture.refresh(token))
        }
    }

    @Test(
        "Within the window a retry gets the same tokens, and Cognito is not asked", arguments: [0, 60] as [Int64],
        ClockSteps.passing)
    func retry(later: Int64, steps: ClockSteps) async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        try await scene.take(steps)
        let fetcher = RecordedFetcher()
        let again = try await scene.refresh(token, at: Fixture.now + later, fetcher)
        #expect(again.status == .ok)
        #expect(again.json["refresh_token"] == first.json["refresh_token"])
        #expect(again.json["access_token"] == first.json["access_token"])
        #expect(again.json["expires_in"]?.integerValue == 3600 - later)
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("The answer of another session, put into the row by whoever can write there, is given to nobody")
    func answerOfAnotherRow() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        var other = Fixture.sealed
        other.family = [UInt8](repeating: 7, count: 16)
        let others = try other.sealed(with: Fixture.ring(), poolID: Fixture.poolID)
        for each in [token, others] {
            _ = try await scene.refresh(each, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        }
        let (own, foreign) = (Fixture.sealed.family, other.family)
        var row = try #require(try await scene.records.session(own))
        row.answer = try await scene.records.session(foreign)?.answer
        let sessions = RefreshSessions(
            records: scene.records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        guard case .reused = sessions.standing(of: 0, on: nil, in: row) else {
            Issue.record("the answer of another session was given")
            return
        }
    }

    @Test("A retry at a gateway that does not know the new sealing key yet is 503, and ends no session")
    func newerKey() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let keys = try ([7, 8] as [UInt8]).map { try SealingKey(Secret([UInt8](repeating: $0, count: 32))) }
        let newer = SealingKeyRing(sealing: keys[1], opening: [keys[0]])
        let reloaded = try Fixture.accounts(
            RecordedFetcher(Fixture.tokens(refreshToken: "rotated")), records: scene.records)
        reloaded.sealingKeys.adopt(newer)
        let first = await reloaded.answer(Fixture.refresh(token))
        #expect(first.status == .ok)
        let fetcher = RecordedFetcher()
        let other = try Fixture.accounts(fetcher, records: scene.records, revocations: scene.revocations)
        let refused = await other.answer(Fixture.refresh(token))
        #expect(refused.status == .serviceUnavailable && refused.headers[.retryAfter] != nil)
        #expect(scene.revocations.all.isEmpty)
        other.sealingKeys.adopt(newer)
        let again = await other.answer(Fixture.refresh(token))
        #expect(again.status == .ok && again.json["refresh_token"] == first.json["refresh_token"])
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("A token whose newer text is sealed with a key that is not known here yet is 503, and ends nothing")
    func newerKeyOfSameNumber() async throws {
        let scene = try Scene()
        let newer = SealingKeyRing(sealing: try SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        var newest = Fixture.sealed
        newest.refreshToken = Secret("rotated")
        let sessions = RefreshSessions(
            records: scene.records, poolID: Fixture.poolID, keys: newer, now: { Fixture.now })
        try await sessions.begin(newest, newest.sealed(with: newer, poolID: Fixture.poolID), on: nil)
        let fetcher = RecordedFetcher(Fixture.failure("RefreshTokenReuseException"))
        let accounts = try Fixture.accounts(fetcher, records: scene.records, revocations: scene.revocations)
        let token = try Fixture.sealedText()
        let everywhere: JSON = ["refresh_token": .string(token.exposeText()), "all_devices": true]
        for request in [Fixture.refresh(token), Fixture.request(.logout, everywhere)] {
            let refused = await accounts.answer(request)
            #expect(refused.status == .serviceUnavailable && refused.headers[.retryAfter] != nil)
        }
        #expect(await fetcher.requests.isEmpty)
        #expect(scene.revocations.all.isEmpty)
        #expect(try await sessions.openSessions(of: Fixture.username).count == 1)
    }

    @Test("A retry whose newest token is sealed with a key that is gone is no retry after an hour")
    func goneKey() async throws {
        let scene = try Scene()
        var sealed = Fixture.sealed
        (sealed.deviceID, sealed.expiresAt) = (nil, Fixture.now + 86_400)
        let token = try Fixture.sealedText(sealed)
        let keys = try ([7, 8] as [UInt8]).map { try SealingKey(Secret([UInt8](repeating: $0, count: 32))) }
        let before = try Fixture.accounts(
            RecordedFetcher(Fixture.tokens(refreshToken: "rotated")), records: scene.records)
        before.sealingKeys.adopt(SealingKeyRing(sealing: keys[1], opening: [keys[0]]))
        #expect(await before.answer(Fixture.refresh(token)).status == .ok)
        for (seconds, status) in [(3599, .serviceUnavailable), (3600, .unauthorized)] as [(Int64, HTTPResponse.Status)]
        {
            let refused = try await scene.refresh(token, at: Fixture.now + seconds, RecordedFetcher())
            #expect(refused.status == status)
        }
    }

    @Test(
        "After the window it ends a bound session, here, at Cognito and for access tokens",
        arguments: ClockSteps.passing)
    func reuse(steps: ClockSteps) async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        _ = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        try await scene.take(steps)
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let reused = try await scene.refresh(token, at: Fixture.now + 61, fetcher)
        #expect(reused.status == .unauthorized)
        #expect(reused.json["error"] == "TokenRefreshException")
        #expect(reused.reason?.code == "refresh-token-reused")
        #expect(await fetcher.operations == ["RevokeToken"])
        let expected: JSON = [
            "ClientId": .string(Fixture.clientID), "Token": "rotated", "ClientSecret": .string(Fixture.clientSecret),
        ]
        #expect(await fetcher.bodies == [expected], "the newest one")
        #expect(scene.revocations.targets == [.originID("origin-1")])
        #expect(scene.revocations.all.first?.endsAt == Fixture.now + 61 + 86_400 + 600)
    }

    @Test("The successor of a token that was used again is worth nothing, and Cognito is not asked for it")
    func successorEnds() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        _ = try await scene.refresh(token, at: Fixture.now + 61, RecordedFetcher(Fixture.output([:])))
        let successor = Secret(try #require(first.json["refresh_token"]?.stringValue))
        let fetcher = RecordedFetcher()
        let answer = try await scene.refresh(successor, at: Fixture.now + 62, fetcher)
        #expect(answer.reason?.code == "session-ended")
        #expect(answer.json["error"] == "TokenRefreshException")
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("By a clock that is behind reuse is reuse, and what is revoked then is so for the whole time")
    func behind() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        let successor = Secret(try #require(first.json["refresh_token"]?.stringValue))
        _ = try await scene.refresh(successor, RecordedFetcher(Fixture.tokens(refreshToken: "third")))
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.output([:]), Fixture.output([:])), now: Fixture.now - 7200, records: scene.records,
            revocations: scene.revocations, revocationTime: Fixture.now)
        #expect(await accounts.answer(Fixture.refresh(token)).reason?.code == "refresh-token-reused")
        #expect(scene.revocations.all.map(\.endsAt) == [Fixture.now + 86_400 + 600])
        #expect(await accounts.answer(Fixture.bearer(.logout, ["all_devices": true])).status == .noContent)
        #expect(scene.revocations.targets.contains(.subject(Fixture.username, before: Fixture.now - 1)))
    }

    @Test("A token whose successor is in use has no window")
    func twoBehind() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "second")))
        let successor = Secret(try #require(first.json["refresh_token"]?.stringValue))
        _ = try await scene.refresh(successor, RecordedFetcher(Fixture.tokens(refreshToken: "third")))
        let reused = try await scene.refresh(token, RecordedFetcher(Fixture.output([:])))
        #expect(reused.reason?.code == "refresh-token-reused")
    }

    @Test("A use that comes late, when its client has gone, ends no session")
    func abandoned() async throws {
        let scene = try Scene()
        let token = try Fixture.sealedText()
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "second")))
        let successor = Secret(try #require(first.json["refresh_token"]?.stringValue))
        let second = try await scene.refresh(successor, RecordedFetcher(Fixture.tokens(refreshToken: "third")))
        let request = CalledRequest(id: "late")
        request.abandon()
        let late = try await CalledRequest.$current.withValue(request) {
            try await scene.refresh(token, RecordedFetcher())
        }
        #expect(late.status == .serviceUnavailable && late.reason?.code == "client-disconnected")
        #expect(scene.revocations.targets.isEmpty)
        let newest = Secret(try #require(second.json["refresh_token"]?.stringValue))
        let next = try await scene.refresh(newest, RecordedFetcher(Fixture.tokens(refreshToken: "fourth")))
        #expect(next.status == .ok)
        #expect(
            try await scene.refresh(token, RecordedFetcher(Fixture.output([:]))).reason?.code == "refresh-token-reused")
    }

    @Test("What Cognito calls reuse is reuse, unless the exchange was another process's")
    func reuseAtCognito() async throws {
        let alone = try Scene()
        let fetcher = RecordedFetcher(Fixture.failure("RefreshTokenReuseException"))
        _ = try await alone.refresh(Fixture.sealedText(), fetcher)
        #expect(alone.revocations.targets == [.originID("origin-1")])

        // The other process has asked Cognito first, and kept its answer while this one waited for its own.
        let shared = try Scene()
        let gated = GatedFetcher(Fixture.failure("RefreshTokenReuseException"))
        let slow = try Fixture.accounts(gated, records: shared.records, revocations: shared.revocations)
        let token = try Fixture.sealedText()
        async let late = slow.answer(Fixture.refresh(token))
        while await gated.calls < 1 { await Task.yield() }
        let first = try await shared.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        await gated.open()
        let answer = await late
        #expect(answer.status == .ok)
        #expect(answer.json["refresh_token"] == first.json["refresh_token"])
        #expect(shared.revocations.targets.isEmpty)
    }

    @Test("Who is overtaken while Cognito answers gives the other's answer")
    func overtaken() async throws {
        let scene = try Scene()
        let gated = GatedFetcher(Fixture.tokens(refreshToken: "mine"))
        let slow = try Fixture.accounts(gated, records: scene.records)
        let token = try Fixture.sealedText()
        async let late = slow.answer(Fixture.refresh(token))
        while await gated.calls < 1 { await Task.yield() }
        let first = try await scene.refresh(token, RecordedFetcher(Fixture.tokens(refreshToken: "theirs")))
        await gated.open()
        #expect(await late.json["refresh_token"] == first.json["refresh_token"])
    }

    @Test("Who signs out while Cognito answers is signed out, and what Cognito gave is given back")
    func signedOutMeanwhile() async throws {
        let scene = try Scene()
        let gated = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let slow = try Fixture.accounts(gated, records: scene.records)
        let sealed = Fixture.sealed
        let text = try Fixture.sealedText()
        let sessions = RefreshSessions(
            records: scene.records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        try await sessions.begin(sealed, text, on: nil)
        async let late = slow.answer(Fixture.refresh(text))
        while await gated.calls < 1 { await Task.yield() }
        _ = try await sessions.end(family: sealed.family, originIDs: [])
        await gated.open()
        let answer = await late
        #expect(answer.reason?.code == "session-ended")
        #expect(await gated.calls == 2, "RevokeToken for the new one")
    }

    @Test("Records that cannot be read are 503; what cannot be written does not cost the client its new token")
    func brokenRecords() async throws {
        let unreadable = try Fixture.accounts(RecordedFetcher(), records: BrokenRecords(canRead: false))
        let refused = try await unreadable.answer(Fixture.refresh(Fixture.sealedText()))
        #expect(refused.status == .serviceUnavailable)
        #expect(refused.headers[.retryAfter] != nil)
        let log = CapturedLog()
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let unwritable = try Fixture.accounts(fetcher, log: log, records: BrokenRecords(canRead: true))
        let answer = try await unwritable.answer(Fixture.refresh(Fixture.sealedText()))
        #expect(answer.status == .ok)
        #expect(log.lines.contains { $0.hasPrefix("error ") })
        let text = Secret(try #require(answer.json["refresh_token"]?.stringValue))
        let next = try SealedRefreshToken(opening: text, with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(next.refreshToken.exposeText() == "rotated")
        #expect(next.generation == 1)
    }

    @Test("What the store has of a session says nothing without the key")
    func sealedAtRest() async throws {
        let scene = try Scene()
        _ = try await scene.refresh(
            Fixture.sealedText(), RecordedFetcher(Fixture.tokens(refreshToken: "provider-rotated")))
        let record = try #require(try await scene.records.session(Fixture.sealed.family))
        let withRecords = String(decoding: record.token + (record.answer ?? []), as: UTF8.self)
        for secret in ["provider-rotated", Fixture.accessToken, Fixture.idToken] {
            #expect(!withRecords.contains(secret))
        }
    }

    private struct BrokenRecords: SessionRecords {
        struct Broken: Error {}
        let canRead: Bool

        func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool { throw Broken() }
        func session(_ family: [UInt8]) async throws -> SessionRecord? {
            if canRead { return nil }
            throw Broken()
        }
        func advance(to record: SessionRecord) async throws -> SessionStep { throw Broken() }
        func advanceStored(to record: SessionRecord) async throws -> SessionStep { throw Broken() }
        func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep { throw Broken() }
        func end(
            family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64
        ) async throws -> [SessionRecord] { throw Broken() }
        func endAll(
            subject: String, poolID: String, except family: [UInt8]?, at now: Int64
        ) async throws -> [SessionRecord] { throw Broken() }
        func open(subject: String, poolID: String) async throws -> [SessionRecord] { throw Broken() }
        func all(subject: String, poolID: String) async throws -> [SessionRecord] { throw Broken() }
        func forget(subject: String, poolID: String) async throws { throw Broken() }
        func removeEnded(now: Int64) async throws { throw Broken() }
    }
}
