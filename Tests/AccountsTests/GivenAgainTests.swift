import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Store

@Suite("Successors of refresh tokens that were lost")
struct GivenAgainTests {
    private static let day: Int64 = 86_400

    /// Accounts over the records of one session, bound to a device or not.
    private struct Scene {
        let records: StoredSessions
        let revocations = RecordedRevocations()
        let calls = RecordedCalls()
        let token: Secret

        init(isBound: Bool) async throws {
            records = try Fixture.records()
            var sealed = Fixture.sealed
            sealed.expiresAt = Fixture.now + 30 * day
            sealed.deviceID = isBound ? "device-1" : nil
            token = try Fixture.sealedText(sealed)
            try await sessions(at: Fixture.now).begin(sealed, token, on: nil)
        }

        func sessions(at time: Int64) throws -> RefreshSessions {
            RefreshSessions(records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { time })
        }

        func answer(_ request: AccountRequest, after seconds: Int64, _ fetcher: RecordedFetcher) async throws
            -> AccountAnswer
        {
            let accounts = try Fixture.accounts(
                fetcher, now: Fixture.now + seconds, records: records, accountGuard: calls, revocations: revocations)
            return await accounts.answer(request)
        }

        /// - Parameters:
        ///   - seconds: since the sign-in.
        ///   - answers: Cognito's; another call of it fails.
        func refresh(
            _ token: Secret, on device: String? = "device-1", after seconds: Int64, _ answers: FetchResponse...
        ) async throws -> (answer: AccountAnswer, exchanged: [String]) {
            var body: JSONObject = ["refresh_token": .string(token.exposeText())]
            if let device { body["device_info"] = ["device_id": .string(device)] }
            let fetcher = RecordedFetcher(answers.map { .success($0) })
            let answer = try await answer(Fixture.request(.refresh, .object(body)), after: seconds, fetcher)
            return (answer, await fetcher.bodies.compactMap { $0["RefreshToken"]?.stringValue })
        }

        var isGivenAgain: Bool {
            guard case .givenAgain = calls.entries.last?.outcome else { return false }
            return true
        }

        func stored() async throws -> SessionRecord { try #require(try await records.session(Fixture.sealed.family)) }
    }

    private static let times: [Int64] = [1, 61, 3599]

    @Test("Whoever shows the parent of an unused token has that once more", arguments: times, [true, false])
    func again(later: Int64, isBound: Bool) async throws {
        let scene = try await Scene(isBound: isBound)
        let first = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated")).answer
        #expect(!scene.isGivenAgain)
        let (again, exchanged) = try await scene.refresh(scene.token, after: later)
        #expect(again.status == .ok && exchanged.isEmpty, "Cognito is not asked")
        for name in ["refresh_token", "access_token", "id_token"] { #expect(again.json[name] == first.json[name]) }
        #expect(again.json["expires_in"]?.integerValue == 3600 - later)
        #expect(scene.isGivenAgain)
        let successor = try #require(again.refreshToken)
        let next = try await scene.refresh(successor, after: later, Fixture.tokens(refreshToken: "third"))
        #expect(next.answer.status == .ok && next.exchanged == ["rotated"])
        #expect(!scene.isGivenAgain)
    }

    @Test(
        "Where its answer is gone or has expired, Cognito is asked with the unused token, and its number stays",
        arguments: [(61, true), (3600, false), (day, true), (day, false)] as [(Int64, Bool)], [nil, "second"])
    func renewed(time: (later: Int64, isCleared: Bool), rotated: String?) async throws {
        let scene = try await Scene(isBound: true)
        let first = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "first")).answer
        if time.isCleared { try await scene.records.removeEnded(now: Fixture.now + time.later) }
        #expect((try await scene.stored().answer == nil) == time.isCleared)
        let (again, exchanged) = try await scene.refresh(
            scene.token, after: time.later, Fixture.tokens(refreshToken: rotated))
        #expect(again.status == .ok && exchanged == ["first"])
        #expect(again.json["expires_in"]?.integerValue == 3600)
        #expect(scene.isGivenAgain)
        #expect((again.json["refresh_token"] == first.json["refresh_token"]) == (rotated == nil))
        let stored = try await scene.stored()
        #expect(stored.generation == 1 && stored.refreshedAt == Fixture.now + time.later)
        // Now its answer is stored once more.
        let third = try await scene.refresh(scene.token, after: time.later + 61)
        #expect(third.answer.json["refresh_token"] == again.json["refresh_token"] && third.exchanged.isEmpty)
        // Whoever has the one that was given first goes on with what Cognito gave last.
        let next = try await scene.refresh(
            try #require(first.refreshToken), after: time.later + 62, Fixture.tokens(refreshToken: "next"))
        #expect(next.answer.status == .ok && next.exchanged == [rotated ?? "first"])
        #expect(try await scene.stored().generation == 2)
    }

    @Test("The first use of a token ends its parent for good", arguments: [1, 61, day], [true, false])
    func used(later: Int64, isBound: Bool) async throws {
        let scene = try await Scene(isBound: isBound)
        let first = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "second")).answer
        let successor = try #require(first.refreshToken)
        let second = try await scene.refresh(successor, after: 1, Fixture.tokens(refreshToken: "third")).answer
        let reused = try await scene.refresh(scene.token, after: 1 + later, Fixture.output([:]))
        #expect(reused.answer.status == .unauthorized && reused.answer.reason?.code == "refresh-token-reused")
        #expect(scene.revocations.targets == [.originID("origin-1")])
        let newest = try await scene.refresh(try #require(second.refreshToken), after: 2 + later)
        #expect(newest.answer.reason?.code == "session-ended" && newest.exchanged.isEmpty)
    }

    @Test("On another device than the session's the parent of an unused token is reuse", arguments: [1, 61, day])
    func otherDevice(later: Int64) async throws {
        let scene = try await Scene(isBound: true)
        _ = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated"))
        let reused = try await scene.refresh(scene.token, on: "device-2", after: later, Fixture.output([:]))
        #expect(reused.answer.status == .unauthorized && reused.answer.reason?.code == "refresh-token-reused")
        #expect(try await scene.stored().endedAt == Fixture.now + later)
    }

    @Test("A newest token on another device ends nothing")
    func otherDeviceNewest() async throws {
        let scene = try await Scene(isBound: true)
        let refused = try await scene.refresh(scene.token, on: "device-2", after: 1)
        #expect(refused.answer.reason?.code == "other-device" && refused.exchanged.isEmpty)
        let first = try await scene.refresh(scene.token, after: 1, Fixture.tokens(refreshToken: "rotated"))
        #expect(first.answer.status == .ok)
    }

    @Test(
        "Of a bound session, an app that does not say its device has the window alone",
        arguments: [(60, true), (61, false), (day, false)] as [(Int64, Bool)])
    func noDevice(later: Int64, isGiven: Bool) async throws {
        let scene = try await Scene(isBound: true)
        _ = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated"))
        let again = try await scene.refresh(scene.token, on: nil, after: later, Fixture.output([:])).answer
        #expect(again.reason?.code == (isGiven ? nil : "refresh-token-reused"))
        #expect((again.status == .ok) == isGiven)
        #expect((try await scene.stored().endedAt == nil) == isGiven)
    }

    @Test("Over other sessions a parent has a say within the window alone", arguments: [true, false])
    func everywhere(isLate: Bool) async throws {
        let scene = try await Scene(isBound: false)
        _ = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated"))
        var other = try #require(try await scene.records.session(Fixture.sealed.family))
        (other.family, other.originID) = ([UInt8](repeating: 8, count: 16), "origin-2")
        try await scene.records.begin(other)
        let logout = Fixture.request(
            .logout, ["refresh_token": .string(scene.token.exposeText()), "all_devices": true])
        let fetcher = RecordedFetcher((0..<4).map { _ in .success(Fixture.output([:])) })
        let answer = try await scene.answer(logout, after: isLate ? 61 : 60, fetcher)
        #expect(answer.status == (isLate ? .unauthorized : .noContent))
        #expect(answer.reason?.code == (isLate ? "refresh-token-reused" : nil))
        #expect((try await scene.records.session(other.family)?.endedAt == nil) == isLate)
        #expect(try await scene.stored().endedAt != nil, "its own has ended")
    }

    @Test("By a clock that is behind the parent of an unused token is no reuse either")
    func behind() async throws {
        let scene = try await Scene(isBound: true)
        let first = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated")).answer
        let again = try await scene.refresh(scene.token, after: -7200)
        #expect(again.answer.json["refresh_token"] == first.json["refresh_token"] && again.exchanged.isEmpty)
        #expect(try await scene.stored().endedAt == nil)
    }

    @Test("While Cognito is away nothing is lost: afterwards the same token is given")
    func cognitoAway() async throws {
        let scene = try await Scene(isBound: true)
        let first = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated")).answer
        let failed = try await scene.refresh(scene.token, after: Self.day, FetchResponse(status: 500, body: []))
        #expect(failed.answer.status == .serviceUnavailable)
        let again = try await scene.refresh(scene.token, after: Self.day, Fixture.tokens(refreshToken: nil))
        #expect(again.answer.json["refresh_token"] == first.json["refresh_token"] && again.exchanged == ["rotated"])
    }

    @Test("A token that Cognito takes no more is not given, and the session is not said to be reused")
    func cognitoRefuses() async throws {
        let scene = try await Scene(isBound: true)
        _ = try await scene.refresh(scene.token, after: 0, Fixture.tokens(refreshToken: "rotated"))
        let refused = try await scene.refresh(
            scene.token, after: Self.day, Fixture.failure("NotAuthorizedException", "Refresh Token has been revoked"))
        #expect(refused.answer.status == .unauthorized && refused.answer.json["refresh_token"] == nil)
        #expect(refused.answer.reason?.code != "refresh-token-reused")
    }
}

extension AccountAnswer {
    fileprivate var refreshToken: Secret? { json["refresh_token"]?.stringValue.map { Secret($0) } }
}
