import ClockSteps
import Cryptography
import Encoding
import Foundation
import GRDB
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Refreshing sessions of the gateway's own")
struct SessionRefreshTests {
    private static let day: Int64 = 86_400

    @Test("A token is exchanged for one that lives on, of the same session and sign-in")
    func exchange() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin()
        fixture.pass(100)
        let answer = try await fixture.refresh(first.token)
        #expect(answer.status == .ok && answer.json["success"] == true)
        let (old, new) = (try #require(fixture.verify(first.token)), try #require(answer.token.flatMap(fixture.verify)))
        #expect(new.claims["sid"] == old.claims["sid"] && new.subject == old.subject)
        #expect(new.claims["auth_time"] == old.claims["auth_time"])
        #expect(new.claims["jti"] != old.claims["jti"])
        #expect(new.expires == old.expires + 100)
        #expect(
            fixture.revocations.superseded == [
                SupersededSession(
                    id: try #require(old.claims["sid"]?.stringValue), rotation: 1, refreshedAt: fixture.now,
                    expiresAt: old.expires)
            ])
        #expect(fixture.observer.entries.last?.call.name == "session-refresh")
        #expect(fixture.observer.entries.last?.call.subject == first.user.id)
    }

    @Test("The successor of another session, put into the row by whoever can write there, is given to nobody")
    func successorOfAnotherRow() async throws {
        let fixture = try SessionFixture()
        let (own, other) = (try await fixture.begin(), try await fixture.begin(SessionFixture.user("ben")))
        for each in [own, other] { #expect(try await fixture.refresh(each.token).status == .ok) }
        try await fixture.store.write { [id = own.id, from = other.id] database in
            try database.execute(
                sql: """
                    UPDATE user_sessions SET successor = (SELECT successor FROM user_sessions WHERE id = ?) WHERE id = ?
                    """, arguments: [from, id])
        }
        let answer = try await fixture.refresh(own.token)
        #expect(answer.status == .unauthorized && answer.token == nil)
        #expect(try await fixture.refresh(other.token).status == .ok)
    }

    @Test(
        "The token before brings the same successor until that is refreshed; after that it ends the session for all",
        arguments: ClockSteps.passing)
    func reuse(steps: ClockSteps) async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        let second = try #require(try await fixture.refresh(first).token)
        fixture.pass(60)
        try await fixture.take(steps) {
            // By a clock that is ahead both have ended. By one that is behind they are as ever.
            let again = try await fixture.refresh(first)
            #expect(again.reason?.code == (steps == .aheadAndBack ? "expired-refresh-token" : nil))
            #expect(again.token?.exposeText() == (steps == .aheadAndBack ? nil : second.exposeText()))
        }
        #expect(try await fixture.refresh(first).token?.exposeText() == second.exposeText())
        let third = try #require(try await fixture.refresh(second).token)
        // By a clock that is behind it is of the future, which ends nothing.
        fixture.set(error: -7200)
        #expect(try await fixture.refresh(first).reason?.code == "issued-in-future")
        fixture.set(error: 0)
        let reused = try await fixture.refresh(first)
        #expect(reused.status == .unauthorized && reused.reason?.code == "refresh-token-reused")
        #expect(reused.json["error"] == "TokenRefreshException" && reused.json["success"] == false)
        for token in [second, third] {
            #expect(fixture.verify(token) == nil, "the thief's or the user's: it ends for both")
            let after = try await fixture.refresh(token)
            #expect(after.status == .unauthorized && after.reason?.code == "token-revoked")
        }
    }

    @Test("A full revocation list lets no thief go on: the user's older sessions end too, or nobody gets another token")
    func reuseWithoutRoom() async throws {
        for isFull in [false, true] {
            let fixture = try SessionFixture()
            let older = try await fixture.begin().token
            fixture.pass(5)
            let first = try await fixture.begin().token
            let second = try #require(try await fixture.refresh(first).token)
            let third = try #require(try await fixture.refresh(second).token)
            fixture.pass(61)
            let later = try await fixture.begin().token
            fixture.revocations.isFull.withLock { $0 = isFull }
            fixture.revocations.isFullOfSingles.withLock { $0 = true }
            let reused = try await fixture.refresh(first)
            #expect(reused.status == .unauthorized && reused.reason?.code == "refresh-token-reused")
            let reason = try await fixture.refresh(third).reason?.code
            #expect(reason == (isFull ? "session-ended" : "token-revoked"))
            for token in [older, third] { #expect((fixture.verify(token) != nil) == isFull) }
            #expect(fixture.verify(later) != nil)
            let isTold = fixture.log.lines.contains { $0.contains("newest token is valid until it expires") }
            #expect(isTold == isFull)
        }
    }

    @Test("Tokens that are none count as calls, and those beyond the limit are told so")
    func guesses() async throws {
        let fixture = try SessionFixture()
        for operation in [AccountOperation.sessionRefresh, .sessionLogout] {
            let counted = fixture.observer.entries.count
            let answer = try await fixture.endpoints().answer(fixture.request(operation, Secret("garbage")))
            #expect(answer.status == .unauthorized)
            // Admitted, and ended.
            #expect(fixture.observer.entries.count == counted + 2)
        }
        let full = RecordedCalls(admission: .retryLater(.tooManyRequests, after: 7, reason: .limit(.address)))
        let endpoints = SessionEndpoints(
            name: SessionFixture.issuer, sessions: try fixture.sessions(),
            apple: try AppleFixture.signIn(fixture.users, fixture.log), flow: AccountFlow(full))
        let answer = await endpoints.answer(fixture.request(.sessionRefresh, Secret("garbage")))
        #expect(answer.status == .tooManyRequests && answer.headers[.retryAfter] == "7")
        #expect(answer.json["success"] == false)
    }

    @Test("A token of two steps ago is reuse, however lately the last step was")
    func olderToken() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        let second = try #require(try await fixture.refresh(first).token)
        _ = try await fixture.refresh(second)
        #expect(try await fixture.refresh(first).reason?.code == "refresh-token-reused")
    }

    @Test("A use that comes late, when its client has gone, ends no session")
    func abandoned() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        let second = try #require(try await fixture.refresh(first).token)
        let third = try #require(try await fixture.refresh(second).token)
        let request = CalledRequest(id: "late")
        request.abandon()
        let late = try await CalledRequest.$current.withValue(request) { try await fixture.refresh(first) }
        #expect(late.status == .serviceUnavailable && late.reason?.code == "client-disconnected")
        #expect(try await fixture.refresh(third).token != nil)
    }

    @Test("Many who come with one token at a time get one successor, also from several processes")
    func concurrent() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        let processes = try (0..<4).map { _ in try fixture.endpoints() }
        let tokens = try await withThrowingTaskGroup(of: String?.self) { tasks in
            for number in 0..<60 {
                tasks.addTask { try await fixture.refresh(first, processes[number % 4]).token?.exposeText() }
            }
            return try await tasks.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1 && !tokens.contains(nil))
    }

    @Test(
        "Only the end is relaxed, only by so much",
        arguments: [(0, true), (30 * 86_400, true), (37 * 86_400 - 1, true), (37 * 86_400 + 60, false)]
            as [(Int64, Bool)])
    func window(age: Int64, isTaken: Bool) async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        fixture.pass(age)
        let answer = try await fixture.refresh(first)
        #expect((answer.status == .ok) == isTaken)
        if !isTaken { #expect(answer.reason?.code == "expired-refresh-token") }
    }

    @Test(
        "A session goes on when the clock is set back, and again when it is right",
        arguments: [7200, 20 * day] as [Int64])
    func clockSetBack(seconds: Int64) async throws {
        let fixture = try SessionFixture()
        var token = try await fixture.begin().token
        for step in [-seconds, seconds] {
            fixture.pass(step)
            token = try #require(try await fixture.refresh(token).token)
            #expect(fixture.verify(token) != nil)
        }
    }

    @Test("Of a session that began in the future nobody knows whether it was before its user's revocation")
    func revokedAfterClockSetBack() async throws {
        let fixture = try SessionFixture()
        let began = try await fixture.begin()
        fixture.pass(-7200)
        let refreshed = try #require(try await fixture.refresh(began.token).token)
        try await fixture.revocations.revoke([
            Revocation(
                issuer: SessionFixture.issuer, .subject(began.user.id, before: fixture.now),
                endsAt: fixture.now + 400 * Self.day)
        ])
        for token in [began.token, refreshed] {
            #expect(try await fixture.refresh(token).status == .unauthorized)
            #expect(fixture.verify(token) == nil)
        }
    }

    @Test("A token that was changed, is another gateway's, or is none, is not looked at further")
    func tampered() async throws {
        let (fixture, other) = (try SessionFixture(), try SessionFixture())
        let text = try await fixture.begin().token.exposeText()
        let parts = text.split(separator: ".").map(String.init)
        let claims = try #require(UnverifiedToken(Array(text.utf8))?.payload?.objectValue)
        var longer = claims
        longer["exp"] = .number(JSONNumber(fixture.now + 400 * Self.day))
        let cases: [(String, String)] = [
            ("\(parts[0]).\(Base64URL.encode(longer.encoded())).\(parts[2])", "bad-signature"),
            ("\(parts[0]).\(parts[1]).", "bad-signature"),
            (try await other.begin().token.exposeText(), "unknown-key"),
            ("garbage", "malformed-token"),
            (String(repeating: "a", count: 9000), "token-too-large"),
        ]
        for (token, reason) in cases {
            let answer = try await fixture.refresh(Secret(token))
            #expect(
                answer.status == .unauthorized && answer.reason?.code == reason,
                "\(reason): \(answer.reason?.code ?? "")")
            #expect(answer.json["success"] == false)
        }
        let missing = try await fixture.endpoints().answer(fixture.request(.sessionRefresh, nil))
        #expect(missing.status == .unauthorized && missing.reason?.code == "token-missing")
    }

    @Test("A number that no session comes to is refused", arguments: [-1, .max, .min] as [Int64])
    func impossibleRotation(rotation: Int64) async throws {
        let fixture = try SessionFixture()
        let text = try await fixture.begin().token.exposeText()
        var claims = try #require(UnverifiedToken(Array(text.utf8))?.payload?.objectValue)
        claims["rotation"] = .number(JSONNumber(rotation))
        let key = try #require(fixture.keys.signing)
        let answer = try await fixture.refresh(Secret(try key.token(of: claims, type: SessionToken.type)))
        #expect(answer.status == .unauthorized && answer.reason?.code == "not-a-session")
    }

    @Test(
        "A session ends for good after its absolute lifetime, however it is used, and its last token with it",
        arguments: ClockSteps.passing)
    func absoluteLifetime(steps: ClockSteps) async throws {
        let fixture = try SessionFixture { $0.absoluteLifetime = 40 * Self.day }
        var token = try await fixture.begin().token
        try await fixture.take(steps)
        fixture.pass(20 * Self.day)
        token = try #require(try await fixture.refresh(token).token)
        #expect(fixture.verify(token)?.expires == SessionFixture.start + 40 * Self.day)
        fixture.pass(20 * Self.day)
        let answer = try await fixture.refresh(token)
        #expect(answer.status == .unauthorized && answer.reason?.code == "session-too-old")
    }

    @Test("Those who watch hear when an ended session began, however it ended and however long ago")
    func lengths() async throws {
        let fixture = try SessionFixture()
        let (old, left) = (try await fixture.begin(), try await fixture.begin(SessionFixture.user("apple-eve")))
        func session(after operation: AccountOperation, _ token: Secret) async throws -> CalledSession? {
            _ = await (try fixture.endpoints()).answer(fixture.request(operation, token))
            return fixture.observer.entries.last?.call.session
        }
        let began = CalledSession(
            id: try #require(fixture.verify(left.token)?.claims["sid"]?.stringValue), beganAt: SessionFixture.start)
        fixture.pass(10)
        #expect(try await session(after: .sessionLogout, left.token) == began)
        #expect(try await session(after: .sessionRefresh, left.token) == began, "it was revoked")
        fixture.pass(1000 * Self.day)
        #expect(try await session(after: .sessionRefresh, old.token)?.beganAt == SessionFixture.start, "it has expired")
        #expect(try await session(after: .sessionRefresh, Secret("made up")) == nil)
    }

    @Test("A session that was not refreshed for its idle lifetime ends", arguments: ClockSteps.passing)
    func idleLifetime(steps: ClockSteps) async throws {
        let fixture = try SessionFixture { $0.idleLifetime = 31 * Self.day }
        var token = try await fixture.begin().token
        fixture.pass(31 * Self.day - 1)
        try await fixture.take(steps)
        token = try #require(try await fixture.refresh(token).token)
        fixture.pass(31 * Self.day)
        let answer = try await fixture.refresh(token)
        #expect(answer.status == .unauthorized && answer.reason?.code == "session-idle")
    }

    @Test("A refreshed token says what is known of the user now")
    func freshClaims() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        let email = VouchedEmail(address: "new@example.com", isVerified: true, isPrivate: false)
        #expect(
            try await fixture.users.setEmail(email, asOf: fixture.now, of: begun.user.id)?.email == "new@example.com")
        let token = try #require(try await fixture.refresh(begun.token).token)
        #expect(fixture.verify(token)?.email == "new@example.com")
    }

    @Test("While the records cannot be used it is 503, nothing is given, and afterwards all is as before")
    func recordsFail() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin().token
        let failing = FailingRecords(fixture.users)
        let endpoints = try fixture.endpoints(records: failing)
        for step in [FailingRecords.Step.reading, .writing] {
            failing.failing.withLock { $0 = step }
            let answer = try await fixture.refresh(first, endpoints)
            #expect(answer.status == .serviceUnavailable && answer.reason?.code == "session-records-unavailable")
            #expect(answer.headers[.retryAfter] == "5")
            #expect(answer.token == nil)
        }
        failing.failing.withLock { $0 = nil }
        #expect(try await fixture.refresh(first, endpoints).status == .ok)
    }

    @Test("After a kill, a client that does not say its device has a minute from the next start on for its answer")
    func lostAnswer() async throws {
        let store = try Store(
            path: ":memory:",
            migrations: StoredSessions.migrations + StoredUsers.migrations + RetryWindows.migrations)
        let fixture = try SessionFixture(store)
        let phone = DeviceInfo(deviceID: "phone", platform: "ios")
        let first = try await fixture.begin(device: phone).token
        let other = try await fixture.begin(device: phone).token
        let lost = try #require(try await fixture.refresh(first).token)
        _ = try await fixture.refresh(other)
        fixture.pass(3 * Self.day)
        // The next process begins.
        try await RetryWindows.begin(store, now: fixture.now)
        fixture.pass(60)
        let again = try #require(try await fixture.refresh(first).token)
        #expect(again.exposeText() == lost.exposeText())
        fixture.pass(1)
        #expect(try await fixture.refresh(other).reason?.code == "refresh-token-reused")
        let third = try #require(try await fixture.refresh(again).token)
        fixture.pass(61)
        #expect(try await fixture.refresh(again).reason?.code == "refresh-token-reused")
        #expect(fixture.verify(third) == nil)
    }

    @Test("After a stop in good order the window of a client that does not say its device is the same as ever")
    func stopped() async throws {
        let store = try Store(
            path: ":memory:",
            migrations: StoredSessions.migrations + StoredUsers.migrations + RetryWindows.migrations)
        let fixture = try SessionFixture(store)
        let phone = DeviceInfo(deviceID: "phone", platform: "ios")
        let first = try await fixture.begin(device: phone).token
        let other = try await fixture.begin(device: phone).token
        let second = try #require(try await fixture.refresh(first).token)
        _ = try await fixture.refresh(other)
        try await RetryWindows.recordCleanShutdown(store, now: fixture.now)
        fixture.pass(60)
        try await RetryWindows.begin(store, now: fixture.now)
        #expect(try await fixture.refresh(first).token?.exposeText() == second.exposeText())
        fixture.pass(1)
        #expect(try await fixture.refresh(other).reason?.code == "refresh-token-reused")
    }
}

/// Records that fail where they are told to.
final class FailingRecords: UserSessionRecords {
    enum Step { case reading, writing }
    struct DiskFull: Error {}

    let failing = Mutex<Step?>(nil)
    /// Since when replaced tokens were asked for, each time.
    let positions = Mutex<[ChangePosition?]>([])
    private let records: StoredUsers

    init(_ records: StoredUsers) {
        self.records = records
    }

    private func fail(at step: Step) throws {
        if failing.withLock({ $0 }) == step { throw DiskFull() }
    }

    func signIn(_ signIn: UserSignIn) async throws -> UserSignInStep {
        try fail(at: .writing)
        return try await records.signIn(signIn)
    }

    func session(_ id: String) async throws -> (session: UserSessionRecord, user: UserRecord)? {
        try fail(at: .reading)
        return try await records.session(id)
    }

    func advance(to record: UserSessionRecord) async throws -> UserSessionStep {
        try fail(at: .writing)
        return try await records.advance(to: record)
    }

    func renew(_ known: UserSessionRecord, as record: UserSessionRecord) async throws -> UserSessionStep {
        try fail(at: .writing)
        return try await records.renew(known, as: record)
    }

    func end(_ id: String, at now: Int64) async throws -> Bool {
        try fail(at: .writing)
        return try await records.end(id, at: now)
    }

    func endAll(of userID: String, at now: Int64) async throws -> [UserSessionRecord] {
        try fail(at: .writing)
        return try await records.endAll(of: userID, at: now)
    }

    func hasEnded(atLeast count: Int, of userID: String) async throws -> Bool {
        try fail(at: .reading)
        return try await records.hasEnded(atLeast: count, of: userID)
    }

    func sessions(of userID: String) async throws -> [UserSessionRecord] {
        try fail(at: .reading)
        return try await records.sessions(of: userID)
    }

    func superseded(
        since position: ChangePosition?, now: Int64, limit: Int
    ) async throws -> SupersededReading {
        positions.withLock { $0.append(position) }
        try fail(at: .reading)
        return try await records.superseded(since: position, now: now, limit: limit)
    }

    func removeEnded(now: Int64) async throws {
        try fail(at: .writing)
        try await records.removeEnded(now: now)
    }
}
