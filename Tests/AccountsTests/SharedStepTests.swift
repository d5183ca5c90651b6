import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Sealing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

/// Direct calls whose parts arrive at different gateways.
@Suite("Translated sign-ins at several gateways")
struct SharedStepTests {
    private typealias Steps = DirectStepTests

    private let records = MemoryShortLived()

    private func shared() throws -> SharedValues { SharedValues(records, sealingKeys: try Fixture.ring()) }

    @Test("A step that one gateway gave is known at another, and what follows there as well")
    func steps() async throws {
        let first = Steps.Calls(
            RecordedCalls(), [Steps.challenge("PASSWORD_VERIFIER", block: "1-block")], shared: try shared())
        await first.send(Steps.initiate("USER_SRP_AUTH"))
        let observer = RecordedCalls()
        let second = Steps.Calls(
            observer, [Steps.challenge("SMS_MFA", session: "1-session")], shared: try shared())
        await second.send(Steps.respond("PASSWORD_VERIFIER", ["PASSWORD_CLAIM_SECRET_BLOCK": "1-block"]))
        let third = Steps.Calls(observer, [Steps.mismatch], shared: try shared())
        await third.send(Steps.respond("SMS_MFA", session: "1-session", ["SMS_MFA_CODE": "123456"]))
        #expect(observer.entries.map(\.call.account) == [String?](repeating: Fixture.email, count: 4))
        #expect(observer.entries.allSatisfy { $0.call.unknownStep == nil })
        let digests = DirectCognitoTests.pool().stepDigests(given: ["Session": "1-session"])
        #expect(third.calls.steps.find(digests) != .unknown)
        #expect(records.seconds == [900, 900])
    }

    @Test("Under another name the step of another gateway is refused as its own is, and Cognito is not asked")
    func otherNames() async throws {
        let first = Steps.Calls(
            RecordedCalls(), [Steps.challenge("SMS_MFA", session: "1-session")], shared: try shared())
        await first.send(Steps.initiate("USER_PASSWORD_AUTH"))
        let second = Steps.Calls(RecordedCalls(), [], shared: try shared())
        let answer = await second.send(Steps.respond("SMS_MFA", as: "made-up@example.com", session: "1-session"))
        #expect(answer["message"] == "Invalid session for the user.")
        #expect(await second.fetcher.requests.isEmpty)
    }

    @Test("What is stored tells nothing without the key, and opens under its own name alone")
    func sealed() async throws {
        let first = Steps.Calls(
            RecordedCalls(), [Steps.challenge("SMS_MFA", session: "1-session")], shared: try shared())
        await first.send(Steps.initiate("USER_PASSWORD_AUTH"))
        let value = try #require(records.stored.first)
        #expect(records.stored.count == 1 && !String(decoding: value, as: UTF8.self).contains("ada"))
        let digest = DirectCognitoTests.pool().stepDigests(given: ["Session": "1-session"])
        #expect(try await shared().values(.signInStep, by: digest).count == 1)
        let otherKey = try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        #expect(try await SharedValues(records, sealingKeys: otherKey).values(.signInStep, by: digest).isEmpty)
        try await records.keep([ShortLivedValue(key: "other", value: value)], .signInStep, seconds: 9)
        try await records.keep([ShortLivedValue(key: digest[0], value: value)], .unusedGrant, seconds: 9)
        #expect(try await shared().values(.signInStep, by: ["other"]).isEmpty)
        #expect(try await shared().take(.unusedGrant, by: digest[0]) == nil)
    }

    @Test("While the store is away a gateway's own steps go on, and others' are to be tried again")
    func away() async throws {
        let observer = RecordedCalls()
        let calls = Steps.Calls(
            observer, [Steps.challenge("SMS_MFA", session: "1-session"), Steps.mismatch], shared: try shared())
        records.fail(true)
        await calls.send(Steps.initiate("USER_PASSWORD_AUTH"))
        #expect(await calls.send(Steps.respond("SMS_MFA", session: "1-session"))["__type"] == "CodeMismatchException")
        let answer = await calls.send(Steps.respond("SMS_MFA", session: "elsewhere"))
        #expect(answer["__type"] == "InternalErrorException", "\(answer)")
        #expect(await calls.fetcher.requests.count == 2)
        guard case .refused(_, let reason) = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
        #expect(reason.code == "session-records-unavailable")
    }

    @Test("A sign-out ends the access tokens of a session that another gateway has given")
    func signOut() async throws {
        let begin = Steps.initiate("USER_PASSWORD_AUTH", Fixture.email, ["PASSWORD": "p"])
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens()), "InitiateAuth", begin.encoded(), shared: try shared())
        let (fetcher, revoked) = (RecordedFetcher(Fixture.output([:])), Revoked())
        let body: JSONObject = ["Token": "provider-refresh-token", "ClientId": .string(Fixture.clientID)]
        let reply = await DirectCognitoTests.answer(
            fetcher, "RevokeToken", body.encoded(), revoked: revoked, shared: try shared())
        #expect(reply.status == .ok)
        #expect(await fetcher.operations == ["RevokeToken"], "Cognito is not asked whose it is")
        #expect(revoked.targets == [.originID("origin-1")])
    }

    @Test("A session that could not be shared is tried again soon, less and less often, until it is stored")
    func sharedAgain() async throws {
        let (pauses, paused) = AsyncStream.makeStream(of: Duration.self)
        let (goesOn, go) = AsyncStream.makeStream(of: Void.self)
        let sessions = DirectSessions(now: { Fixture.now }) { pause in
            paused.yield(pause)
            var signals = goesOn.makeAsyncIterator()
            await signals.next()
        }
        records.fail(true)
        let begin = Steps.initiate("USER_PASSWORD_AUTH", Fixture.email, ["PASSWORD": "p"])
        let reply = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens()), "InitiateAuth", begin.encoded(), sessions: sessions,
            shared: try shared())
        #expect(reply.status == .ok)
        var waits = pauses.makeAsyncIterator()
        for seconds in [1, 2, 4, 8, 16, 32, 60] {
            #expect(await waits.next() == .seconds(seconds))
            go.yield()
        }
        #expect(await waits.next() == .seconds(60))
        #expect(records.stored.isEmpty)
        records.fail(false)
        go.yield()
        while records.stored.isEmpty { await Task.yield() }
        #expect(records.seconds == [DirectSessions.sharedLifetime])
    }

    @Test("Where too many sessions wait to be shared, the next use of one tries again")
    func tooMany() {
        let (pause, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        let sessions = DirectSessions(capacity: 1, now: { Fixture.now }) { _ in for await _ in pause {} }
        for digest in ["a", "b"] {
            #expect(sessions.note(["sub": "ada"], by: digest) != nil)
            sessions.shareAgain([1], by: digest) { _, _ in }
        }
        #expect(sessions.note(["sub": "ada"], by: "a") == nil)
        #expect(sessions.note(["sub": "ada"], by: "b") == ["sub": "ada"])
    }

    @Test("A session in use is shared once an hour, and for as long as its access tokens live after that")
    func sessions() {
        let time = Mutex<Int64>(0)
        let sessions = DirectSessions { time.withLock { $0 } }
        #expect(sessions.note(["sub": "ada"], by: "d") == ["sub": "ada"])
        time.withLock { $0 = 3599 }
        #expect(sessions.note(["sub": "ada"], by: "d") == nil)
        time.withLock { $0 = 3600 }
        #expect(sessions.note(["sub": "ada"], by: "d") == ["sub": "ada"])
        time.withLock { $0 = 3600 + DirectSessions.sharedLifetime - 1 }
        #expect(sessions.claims(by: "d") == ["sub": "ada"])
        sessions.learn(["sub": "eve"], by: "e")
        #expect(sessions.note(["sub": "eve"], by: "e") == ["sub": "eve"], "the other gateway's may end soon")
    }
}
