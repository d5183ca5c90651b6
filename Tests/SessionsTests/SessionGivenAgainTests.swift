import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Sealing
import Store
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Successors of sessions' tokens that were lost")
struct SessionGivenAgainTests {
    private static let day: Int64 = 86_400
    private static let phone = DeviceInfo(deviceID: "phone", platform: "ios")

    private static func refresh(_ fixture: SessionFixture, _ token: Secret, on device: String? = "phone") async throws
        -> AccountAnswer
    {
        let body: JSON? = device.map { ["device_info": ["device_id": .string($0)]] }
        return try await fixture.endpoints().answer(fixture.request(.sessionRefresh, token, body))
    }

    private static func isGivenAgain(_ fixture: SessionFixture) -> Bool {
        guard case .givenAgain = fixture.observer.entries.last?.outcome else { return false }
        return true
    }

    private static func stored(_ fixture: SessionFixture, _ session: BegunSession) async throws -> UserSessionRecord {
        try #require(try await fixture.users.session(session.id)?.session)
    }

    @Test(
        "Whoever shows the parent of an unused token has that once more",
        arguments: [1, 61, day, 29 * day], [true, false])
    func again(later: Int64, isBound: Bool) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: isBound ? Self.phone : nil)
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        #expect(!Self.isGivenAgain(fixture))
        fixture.pass(later)
        let again = try await Self.refresh(fixture, session.token)
        #expect(again.status == .ok && again.token?.exposeText() == second.exposeText())
        #expect(Self.isGivenAgain(fixture))
        #expect(try await Self.stored(fixture, session).refreshedAt == SessionFixture.start, "nothing has changed")
        #expect(try await Self.refresh(fixture, second).status == .ok)
        #expect(!Self.isGivenAgain(fixture))
    }

    @Test("A token that is stored no more is signed once more, with its number and times", arguments: [61, day])
    func signedOnceMore(later: Int64) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        fixture.pass(later)
        try await fixture.users.removeEnded(now: fixture.now)
        #expect(try await Self.stored(fixture, session).successor == nil)
        let again = try #require(try await Self.refresh(fixture, session.token).token)
        let (given, lost) = (try #require(fixture.verify(again)), try #require(fixture.verify(second)))
        #expect(given.claims["rotation"] == lost.claims["rotation"] && given.claims["sid"] == lost.claims["sid"])
        #expect(given.expires == lost.expires, "it lives no longer than the one that was lost")
        // Whichever of the two comes first, the session goes on once.
        let third = try #require(try await Self.refresh(fixture, again).token)
        #expect(try await Self.refresh(fixture, second).token?.exposeText() == third.exposeText())
    }

    @Test("A token that is sealed with a key which is not known here is signed once more, and ends no session")
    func unknownKey() async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        let reloaded = try fixture.endpoints()
        let newer = try SealingKey(Secret([UInt8](repeating: 8, count: 32)))
        reloaded.sessions?.sealingKeys.adopt(SealingKeyRing(sealing: newer))
        let body: JSON = ["device_info": ["device_id": "phone"]]
        let answer = await reloaded.answer(fixture.request(.sessionRefresh, session.token, body))
        let second = try #require(answer.token)
        let again = try #require(try await Self.refresh(fixture, session.token).token)
        let (given, lost) = (try #require(fixture.verify(again)), try #require(fixture.verify(second)))
        #expect(given.claims["jti"] == lost.claims["jti"] && given.expires == lost.expires)
        #expect(try await Self.refresh(fixture, again).status == .ok)
    }

    @Test("A token that has expired meanwhile is given with new times")
    func expired() async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        fixture.pass(31 * Self.day)
        #expect(fixture.verify(second) == nil)
        let again = try #require(try await Self.refresh(fixture, session.token).token)
        #expect(Self.isGivenAgain(fixture))
        #expect(fixture.verify(again)?.expires == fixture.now + 30 * Self.day)
        let stored = try await Self.stored(fixture, session)
        #expect(stored.rotation == 1 && stored.refreshedAt == fixture.now)
        let third = try #require(try await Self.refresh(fixture, again).token)
        #expect(try await Self.refresh(fixture, second).token?.exposeText() == third.exposeText())
        let reused = try await Self.refresh(fixture, session.token)
        #expect(reused.reason?.code == "refresh-token-reused" && fixture.verify(third) == nil)
    }

    @Test("The first use of a token ends its parent for good", arguments: [1, 61, day], [true, false])
    func used(later: Int64, isBound: Bool) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: isBound ? Self.phone : nil)
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        let third = try #require(try await Self.refresh(fixture, second).token)
        fixture.pass(later)
        let reused = try await Self.refresh(fixture, session.token)
        #expect(reused.status == .unauthorized && reused.reason?.code == "refresh-token-reused")
        #expect(fixture.verify(third) == nil)
        #expect(try await Self.refresh(fixture, third).reason?.code == "token-revoked")
    }

    @Test("On another device than the session's the parent of an unused token is reuse", arguments: [1, 61, day])
    func otherDevice(later: Int64) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        fixture.pass(later)
        let reused = try await Self.refresh(fixture, session.token, on: "tablet")
        #expect(reused.status == .unauthorized && reused.reason?.code == "refresh-token-reused")
        #expect(fixture.verify(second) == nil)
    }

    @Test("A newest token on another device is refused, and ends nothing")
    func otherDeviceNewest() async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        let refused = try await Self.refresh(fixture, session.token, on: "tablet")
        #expect(refused.status == .unauthorized && refused.reason?.code == "other-device")
        #expect(try await Self.refresh(fixture, session.token).status == .ok)
    }

    @Test(
        "Of a bound session, an app that does not say its device has the window alone",
        arguments: [(60, true), (61, false), (day, false)] as [(Int64, Bool)])
    func noDevice(later: Int64, isGiven: Bool) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin(device: Self.phone)
        _ = try await Self.refresh(fixture, session.token)
        fixture.pass(later)
        let again = try await Self.refresh(fixture, session.token, on: nil)
        #expect(again.reason?.code == (isGiven ? nil : "refresh-token-reused"))
        #expect((again.token != nil) == isGiven)
    }

    @Test("Over other sessions a parent has a say within the window alone", arguments: [true, false])
    func everywhere(isLate: Bool) async throws {
        let fixture = try SessionFixture()
        let (session, other) = (try await fixture.begin(), try await fixture.begin())
        let second = try #require(try await Self.refresh(fixture, session.token).token)
        fixture.pass(isLate ? 61 : 60)
        let answer = try await fixture.endpoints().answer(
            fixture.request(.sessionLogout, session.token, ["all_devices": true]))
        #expect(answer.status == (isLate ? .unauthorized : .noContent))
        #expect(answer.reason?.code == (isLate ? "refresh-token-reused" : nil))
        #expect((fixture.verify(other.token) != nil) == isLate)
        #expect(fixture.verify(second) == nil, "its own has ended")
    }

    @Test("A session that has ended, or whose user is disabled, gives nothing again", arguments: [true, false])
    func ended(isDisabled: Bool) async throws {
        let fixture = try SessionFixture()
        let session = try await fixture.begin()
        _ = try await Self.refresh(fixture, session.token)
        if isDisabled {
            _ = try await fixture.users.setDisabled(at: fixture.now, of: session.user.id)
        } else {
            #expect(try await fixture.users.end(session.id, at: fixture.now))
        }
        let answer = try await Self.refresh(fixture, session.token)
        #expect(answer.status != .ok && answer.token == nil)
        #expect(answer.reason?.code == (isDisabled ? "user-disabled" : "session-ended"))
    }

    @Test("Neither lifetime of a session is longer because a token is given again")
    func lifetimes() async throws {
        let fixture = try SessionFixture { $0.absoluteLifetime = 20 * Self.day }
        let idle = try SessionFixture { $0.idleLifetime = 20 * Self.day }
        for (fixture, reason) in [(fixture, "session-too-old"), (idle, "session-idle")] {
            let session = try await fixture.begin()
            fixture.pass(1)
            _ = try await Self.refresh(fixture, session.token)
            fixture.pass(10 * Self.day)
            #expect(try await Self.refresh(fixture, session.token).status == .ok)
            fixture.pass(10 * Self.day)
            let answer = try await Self.refresh(fixture, session.token)
            #expect(answer.status == .unauthorized && answer.reason?.code == reason)
        }
    }
}
