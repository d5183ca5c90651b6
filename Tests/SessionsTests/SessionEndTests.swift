import ClockSteps
import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Ends of sessions of the gateway's own, and of users")
struct SessionEndTests {
    /// Keeps whom it was told of, and refuses where it is told to.
    final class Companion: UserCompanion {
        struct Unable: Error {}
        let told = Mutex<[String]>([])
        let refuses: Bool

        init(refuses: Bool = false) {
            self.refuses = refuses
        }

        func willDelete(_ user: UserRecord) async throws {
            if refuses { throw Unable() }
            told.withLock { $0.append(user.subject) }
        }

        func export(of user: UserRecord) async throws -> JSONObject { ["apple": .string(user.subject)] }
    }

    @Test(
        "Signing out ends this session at once, the other device's goes on, and again is fine",
        arguments: ClockSteps.passing)
    func logout(steps: ClockSteps) async throws {
        let fixture = try SessionFixture()
        let (one, other) = (try await fixture.begin().token, try await fixture.begin().token)
        let endpoints = try fixture.endpoints()
        let answer = await endpoints.answer(fixture.request(.sessionLogout, one))
        #expect(answer.status == .noContent && answer.body.isEmpty)
        try await fixture.take(steps) { () async throws in
            #expect(fixture.verify(one) == nil)
            #expect(try await fixture.refresh(one).status == .unauthorized)
        }
        #expect(fixture.verify(one) == nil)
        #expect(fixture.verify(other) != nil)
        #expect(await endpoints.answer(fixture.request(.sessionLogout, one)).status == .noContent)
        let refused = try await fixture.refresh(one)
        #expect(refused.status == .unauthorized && refused.reason?.code == "token-revoked")
        #expect(try await fixture.refresh(other).status == .ok)
    }

    @Test("Signing out everywhere ends every session of the user's, and no other user's")
    func everywhere() async throws {
        let fixture = try SessionFixture()
        let tokens = [try await fixture.begin().token, try await fixture.begin().token]
        let ben = try await fixture.begin(SessionFixture.user("ben")).token
        let answer = try await fixture.endpoints().answer(
            fixture.request(.sessionLogout, tokens[0], ["all_devices": true]))
        #expect(answer.status == .noContent)
        for token in tokens { #expect(fixture.verify(token) == nil) }
        #expect(fixture.verify(ben) != nil)
        #expect(fixture.verify(try await fixture.begin().token) != nil, "a new sign-in of the same second counts")
    }

    @Test("Who signs out with a token that has expired, and could be refreshed, ends the session all the same")
    func expired() async throws {
        let fixture = try SessionFixture()
        let token = try await fixture.begin().token
        fixture.pass(31 * 86_400)
        #expect(try await fixture.endpoints().answer(fixture.request(.sessionLogout, token)).status == .noContent)
        #expect(try await fixture.refresh(token).reason?.code == "token-revoked")
        fixture.pass(7 * 86_400)
        #expect(try await fixture.endpoints().answer(fixture.request(.sessionLogout, token)).status == .noContent)
        let garbage = try await fixture.endpoints().answer(fixture.request(.sessionLogout, Secret("garbage")))
        #expect(garbage.status == .unauthorized)
        #expect(try await fixture.endpoints().answer(fixture.request(.sessionLogout, nil)).status == .unauthorized)
        let body = try await fixture.endpoints().answer(fixture.request(.sessionLogout, token, ["all_devices": "yes"]))
        #expect(body.status == .unprocessableContent && body.json["success"] == false)
    }

    @Test(
        "A revocation lasts as long as a token from when the settings gave it a longer life, whatever the clock is then",
        arguments: ClockSteps.allCases)
    func longerLife(steps: ClockSteps) async throws {
        let store = try Store(path: ":memory:", migrations: StoredUsers.migrations)
        let before = try SessionFixture(store)
        let user = try await before.begin().user
        let after = try SessionFixture(store) { ($0.lifetime, $0.refreshWithin) = (600, 60) }
        after.set(error: steps.errors.first ?? 0)
        #expect(try await after.sessions().endAll(of: user.id, requestID: "r") == 1)
        let end = try #require(after.revocations.all.first?.endsAt)
        #expect(end >= SessionFixture.start + 30 * 86_400 + 60)
    }

    @Test("Who signs in and out a lot takes little room on the revocation list, and every session ends all the same")
    func many() async throws {
        let fixture = try SessionFixture()
        let endpoints = try fixture.endpoints()
        for number in 0..<72 {
            fixture.pass(1)
            let token = try await fixture.begin().token
            let body: JSON? = number.isMultiple(of: 8) ? ["all_devices": true] : nil
            #expect(await endpoints.answer(fixture.request(.sessionLogout, token, body)).status == .noContent)
            #expect(fixture.verify(token) == nil)
            #expect(try await fixture.refresh(token).status == .unauthorized)
        }
        #expect(fixture.revocations.current.count <= 65)
        fixture.pass(1)
        let (again, ben) = (try await fixture.begin().token, try await fixture.begin(SessionFixture.user("ben")).token)
        #expect(fixture.verify(again) != nil && fixture.verify(ben) != nil)
    }

    @Test("Many sessions that end at once are few entries of the revocation list as well")
    func manyAtOnce() async throws {
        let fixture = try SessionFixture()
        var tokens: [Secret] = []
        for _ in 0..<70 { tokens.append(try await fixture.begin().token) }
        let answer = try await fixture.endpoints().answer(
            fixture.request(.sessionLogout, tokens[0], ["all_devices": true]))
        #expect(answer.status == .noContent && fixture.revocations.current.count == 1)
        for token in tokens { #expect(fixture.verify(token) == nil) }
    }

    @Test("Where there is room for whole users only, all sessions of one still end")
    func almostFull() async throws {
        let fixture = try SessionFixture()
        let (one, other) = (try await fixture.begin(), try await fixture.begin().token)
        fixture.revocations.isFullOfSingles.withLock { $0 = true }
        #expect(try await fixture.sessions().endAll(of: one.user.id, requestID: "r") == 2)
        #expect(fixture.verify(one.token) == nil && fixture.verify(other) == nil)
        let again = try await fixture.begin()
        fixture.pass(1)
        #expect(try await fixture.sessions().endAll(of: again.user.id, requestID: "r") == 1)
        let last = try await fixture.begin().token
        #expect(await (try fixture.endpoints()).answer(fixture.request(.sessionDeleteMe, last)).status == .noContent)
        #expect(fixture.verify(last) == nil)
    }

    @Test("What cannot be revoked is 503 and goes on, to be tried again")
    func full() async throws {
        let fixture = try SessionFixture()
        let token = try await fixture.begin().token
        fixture.revocations.isFull.withLock { $0 = true }
        let answer = try await fixture.endpoints().answer(fixture.request(.sessionLogout, token))
        #expect(answer.status == .serviceUnavailable && answer.reason?.code == "not-revoked")
        #expect(fixture.verify(token) != nil)
        fixture.revocations.isFull.withLock { $0 = false }
        #expect(try await fixture.endpoints().answer(fixture.request(.sessionLogout, token)).status == .noContent)
    }

    @Test(
        "Signing out again is 503 until the revocation is stored, and the session's record ends then",
        arguments: [false, true])
    func notStored(everywhere: Bool) async throws {
        let body: JSON? = everywhere ? ["all_devices": true] : nil
        let fixture = try SessionFixture()
        let (begun, other) = (try await fixture.begin(), try await fixture.begin())
        let endpoints = try fixture.endpoints()
        func logout() async -> AccountAnswer {
            await endpoints.answer(fixture.request(.sessionLogout, begun.token, body))
        }
        func ended() async throws -> Set<String> {
            Set(try await fixture.users.sessions(of: begun.user.id).filter { $0.endedAt != nil }.map(\.id))
        }
        fixture.revocations.isUnstored.withLock { $0 = true }
        for _ in 0..<2 {
            let refused = await logout()
            #expect(refused.status == .serviceUnavailable && refused.reason?.code == "not-revoked")
            #expect(fixture.verify(begun.token) == nil && (fixture.verify(other.token) == nil) == everywhere)
            #expect(try await ended().isEmpty)
        }
        fixture.revocations.isUnstored.withLock { $0 = false }
        fixture.pass(1)
        let later = try await fixture.begin()
        #expect(await logout().status == .noContent)
        #expect(try await ended() == (everywhere ? [begun.id, other.id] : [begun.id]))
        #expect(fixture.verify(later.token) != nil)
    }

    @Test("A user who is deleted is gone with everything, others are told first, and who comes back is another user")
    func delete() async throws {
        let fixture = try SessionFixture()
        let (one, other) = (try await fixture.begin(), try await fixture.begin())
        try await fixture.users.keep(
            AppleTokenRecord(
                userID: one.user.id, clientID: "app", token: [1], storedAt: fixture.now, validatedAt: fixture.now))
        let companion = Companion()
        let endpoints = try fixture.endpoints(companions: [companion])
        #expect(await endpoints.answer(fixture.request(.sessionDeleteMe, one.token)).status == .noContent)
        #expect(companion.told.withLock { $0 } == ["apple-ada"])
        #expect(fixture.verify(one.token) == nil && fixture.verify(other.token) == nil)
        #expect(try await fixture.refresh(other.token).status == .unauthorized)
        #expect(try await fixture.users.user(one.user.id) == nil)
        #expect(try await fixture.users.appleTokens(of: one.user.id).isEmpty)
        #expect(try await fixture.users.sessions(of: one.user.id).isEmpty)
        let again = try await fixture.begin()
        #expect(again.isNew && again.user.id != one.user.id)
        #expect(fixture.verify(again.token) != nil)
    }

    @Test("A deletion that ends half-way leaves the caller's own token good, to be repeated, and no other")
    func deleteHalf() async throws {
        let fixture = try SessionFixture()
        let (one, other) = (try await fixture.begin(), try await fixture.begin())
        // The last step fails: what comes before it is stored.
        fixture.revocations.isFullOfForever.withLock { $0 = true }
        let endpoints = try fixture.endpoints()
        #expect(await endpoints.answer(fixture.request(.sessionDeleteMe, one.token)).status == .serviceUnavailable)
        #expect(try await fixture.users.user(one.user.id) == nil)
        #expect(fixture.verify(one.token) != nil && fixture.verify(other.token) == nil)
        #expect(try await fixture.refresh(other.token).status == .unauthorized)
        fixture.revocations.isFullOfForever.withLock { $0 = false }
        #expect(await endpoints.answer(fixture.request(.sessionDeleteMe, one.token)).status == .noContent)
        #expect(fixture.verify(one.token) == nil)
    }

    @Test("A token that expired long ago still ends its own session, by whatever newer token it goes on")
    func longExpired() async throws {
        let fixture = try SessionFixture()
        let token = try await fixture.begin().token
        fixture.pass(29 * 86_400)
        let newest = try #require(try await fixture.refresh(token).token)
        fixture.pass(9 * 86_400)
        for _ in 0..<2 {
            #expect(await (try fixture.endpoints()).answer(fixture.request(.sessionLogout, token)).status == .noContent)
            #expect(fixture.verify(newest) == nil)
        }
        #expect(fixture.revocations.all.count == 1, "a session that has ended takes no room on the list")
    }

    @Test("A deletion whose last step failed is finished by the next one, and told by both")
    func deleteAgain() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        let endpoints = try fixture.endpoints()
        fixture.revocations.isFull.withLock { $0 = true }
        let failed = await endpoints.answer(fixture.request(.sessionDeleteMe, begun.token))
        #expect(failed.status == .serviceUnavailable && failed.reason?.code == "not-revoked")
        #expect(try await fixture.users.user(begun.user.id) == nil)
        #expect(fixture.verify(begun.token) != nil, "what one can try again with")
        fixture.revocations.isFull.withLock { $0 = false }
        #expect(await endpoints.answer(fixture.request(.sessionDeleteMe, begun.token)).status == .noContent)
        #expect(fixture.verify(begun.token) == nil)
        #expect(fixture.observer.entries.count { $0.outcome != nil } == 2)
    }

    @Test("A token that was replaced long ago, and has expired since, signs nobody out everywhere")
    func oldToken() async throws {
        let fixture = try SessionFixture()
        let (old, other) = (try await fixture.begin().token, try await fixture.begin().token)
        fixture.pass(86_400)
        _ = try #require(try await fixture.refresh(old).token)
        let newest = try #require(try await fixture.refresh(other).token)
        fixture.pass(29 * 86_400 + 60)
        let answer = try await fixture.endpoints().answer(fixture.request(.sessionLogout, old, ["all_devices": true]))
        #expect(answer.status == .unauthorized && answer.reason?.code == "refresh-token-reused")
        #expect(fixture.verify(newest) != nil)
        let again = try await fixture.endpoints().answer(fixture.request(.sessionLogout, old, ["all_devices": true]))
        #expect(again.status == .noContent && fixture.verify(newest) != nil, "its own session has ended")
        #expect(
            try await fixture.endpoints().answer(fixture.request(.sessionLogout, newest, ["all_devices": true])).status
                == .noContent)
        #expect(fixture.verify(newest) == nil)
    }

    @Test("A deletion that others cannot be told of has not begun")
    func deleteRefused() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        let endpoints = try fixture.endpoints(companions: [Companion(refuses: true)])
        #expect(await endpoints.answer(fixture.request(.sessionDeleteMe, begun.token)).status == .serviceUnavailable)
        #expect(fixture.verify(begun.token) != nil)
        #expect(try await fixture.users.user(begun.user.id) != nil)
    }

    @Test("The export has the user, every session, what companions hold, and no secret")
    func export() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin(device: DeviceInfo(deviceID: "phone-7", platform: "ios"))
        let newest = try #require(try await fixture.refresh(begun.token).token)
        let answer = try await fixture.endpoints(companions: [Companion()]).answer(
            fixture.request(.sessionExport, newest))
        #expect(answer.status == .ok)
        #expect(answer.json["user"]?["subject"] == "apple-ada")
        #expect(answer.json["user"]?["email"] == "ada@example.com")
        #expect(answer.json["sessions"]?.arrayValue?.count == 1)
        #expect(answer.json["sessions"]?.arrayValue?.first?["device_id"] == "phone-7")
        #expect(answer.json["apple"] == "apple-ada")
        #expect(!answer.text.contains(newest.exposeText()) && !answer.text.contains("v2."))
    }

    @Test("A user whom an operator has locked out is told so, and gets no new session")
    func disabled() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        #expect(try await fixture.users.setDisabled(at: fixture.now, of: begun.user.id)?.disabledAt == fixture.now)
        let answer = try await fixture.refresh(begun.token)
        #expect(answer.status == .forbidden && answer.json["error"] == "UserDisabledException")
        await #expect(throws: Refusal.self) { _ = try await fixture.begin() }
        let users = UserAdministration(try fixture.sessions(), roles: [])
        #expect(try await users.setDisabled(false, of: begun.user.id, requestID: "r") == 0)
        let again = try await fixture.begin().token
        #expect(try await users.setDisabled(true, of: begun.user.id, requestID: "r") == 2)
        #expect(fixture.verify(begun.token) == nil && fixture.verify(again) == nil)
    }

    @Test("An operator sees users and open sessions, sets roles that there are, and ends sessions")
    func administration() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        _ = try await fixture.begin(SessionFixture.user("ben"))
        let users = UserAdministration(try fixture.sessions(), roles: ["customer", "driver"])
        let id = begun.user.id
        #expect(try await users.users(matching: nil, limit: 10).count == 2)
        #expect(try await users.users(matching: "ben", limit: 10).count == 1)
        #expect(try await users.users(matching: "ada@", limit: 10).count == 2)
        #expect(try await users.users(matching: "%", limit: 10).isEmpty)
        #expect(try await users.users(matching: nil, limit: 1).count == 1)
        #expect(try await users.user(id)["sessions"] == 1)
        #expect(try await users.sessions(of: id).count == 1)
        await #expect(throws: UserAdministration.Failure.self) {
            _ = try await users.setRole("root", of: id, requestID: "r")
        }
        await #expect(throws: UserAdministration.Failure.self) { _ = try await users.user("nobody") }
        #expect(try await users.setRole("driver", of: id, requestID: "r") == 1)
        #expect(fixture.verify(begun.token) == nil, "its token says another role")
        #expect(try await users.sessions(of: id).isEmpty)
        let token = try await fixture.begin(SessionFixture.user(role: "driver")).token
        #expect(fixture.verify(token)?.groups == ["driver"])
        #expect(try await users.endSessions(of: id, requestID: "r") == 1)
        #expect(fixture.verify(token) == nil)
    }
}
