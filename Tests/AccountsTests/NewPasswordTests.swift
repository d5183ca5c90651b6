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

@Suite("Sessions after a new password")
struct NewPasswordTests {
    private let records: StoredSessions
    private let revocations = RecordedRevocations()
    private let log = CapturedLog()

    init() throws { records = try Fixture.records() }

    private static let changing = Fixture.bearer(
        .changePassword, ["current_password": "old horse", "new_password": "new horse"])
    private static let resetting = Fixture.request(
        .resetPassword, ["email": .string(Fixture.email), "code": "123456", "new_password": "new horse"])
    private static let token = Fixture.jwt([
        "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID), "sub": .string(Fixture.username),
        "username": .string(Fixture.username), "origin_jti": "origin-1",
    ])
    private static let done = Fixture.output([:])

    private func accounts(
        _ fetcher: RecordedFetcher, _ change: (inout CognitoSignInSettings) -> Void = { _ in }
    ) throws -> CognitoAccounts {
        var settings = Fixture.settings()
        change(&settings)
        return try Fixture.accounts(
            fetcher, settings: settings, log: log, records: records, accountGuard: Knowing(),
            revocations: revocations)
    }

    /// Knows whose name the fixture's is.
    private final class Knowing: AccountGuard {
        func admit(_ call: AccountCall) async throws(Refusal) -> Admission { Admission(call) }
        func identify(_ admission: inout Admission, as username: String?) async -> Int? { nil }
        func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {}
        func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {}
        func subjects(named name: String, poolID: String) async throws -> [String] {
            [Fixture.email, Fixture.username].contains(name) && poolID == Fixture.poolID ? [Fixture.username] : []
        }
    }

    /// Sessions of the fixture's user: the caller's own, and another one.
    private func beginSessions(_ accounts: CognitoAccounts) async throws {
        for (number, origin) in ["origin-1", "origin-2"].enumerated() {
            var sealed = Fixture.sealed
            sealed.family = [UInt8](repeating: UInt8(number + 1), count: 16)
            sealed.originID = origin
            sealed.refreshToken = Secret("token-\(origin)")
            let text = try sealed.sealed(with: Fixture.ring(), poolID: Fixture.poolID)
            try await accounts.sessions.begin(sealed, text, on: nil)
        }
    }

    private func goingOn() async throws -> [String?] {
        try await records.all(subject: Fixture.username, poolID: Fixture.poolID)
            .filter { $0.endedAt == nil }.map(\.originID)
    }

    @Test("A change ends all sessions but the caller's, on record or not, here and at Cognito")
    func change() async throws {
        let fetcher = RecordedFetcher(Self.done, Self.done)
        let accounts = try accounts(fetcher)
        try await beginSessions(accounts)
        #expect(await accounts.answer(Self.changing).status == .noContent)
        #expect(await fetcher.operations == ["ChangePassword", "RevokeToken"])
        #expect(await fetcher.bodies[1]["Token"] == "token-origin-2")
        #expect(try await goingOn() == ["origin-1"])
        let others = Revocation.Target.otherSignIns(
            Fixture.username, before: Fixture.now - 1, sparing: "origin-1")
        #expect(revocations.targets == [others, .originID("origin-2")])
        #expect(revocations.all[0].endsAt == Fixture.now + Fixture.settings().refreshLifetime + 60)
    }

    @Test("Access tokens that outlive the refresh tokens end too, until the longest clock skew after their `exp`")
    func shortRefresh() async throws {
        let accounts = try accounts(RecordedFetcher(Self.done)) { $0.refreshLifetime = 3600 }
        #expect(await accounts.answer(Self.changing).status == .noContent)
        #expect(revocations.all.map(\.endsAt) == [Fixture.now + 86_400 + 600])
    }

    @Test("A reset ends all sessions of the user whose name it is")
    func reset() async throws {
        let fetcher = RecordedFetcher(Self.done, Self.done, Self.done)
        let accounts = try accounts(fetcher)
        try await beginSessions(accounts)
        #expect(await accounts.answer(Self.resetting).status == .noContent)
        #expect(await fetcher.operations == ["ConfirmForgotPassword", "RevokeToken", "RevokeToken"])
        #expect(try await goingOn().isEmpty)
        let all = Revocation.Target.subject(Fixture.username, before: Fixture.now - 1)
        #expect(revocations.targets == [all, .originID("origin-1"), .originID("origin-2")])
    }

    @Test("Nothing ends where the setting says so, and nothing before the password is changed")
    func nothing() async throws {
        let refused = Fixture.failure("CodeMismatchException")
        for (answer, ends) in [(Self.done, false), (refused, true)] {
            let fetcher = RecordedFetcher(answer)
            let accounts = try accounts(fetcher) { $0.passwordChanges.endsOtherSessions = ends }
            try await beginSessions(accounts)
            _ = await accounts.answer(Self.resetting)
            #expect(try await goingOn().count == 2 && revocations.all.isEmpty)
            try await records.forget(subject: Fixture.username, poolID: Fixture.poolID)
        }
    }

    @Test("A repeated call only ends the sessions, where the first one could not", arguments: [changing, resetting])
    func repeated(request: AccountRequest) async throws {
        let fetcher = RecordedFetcher(Self.done)
        let accounts = try accounts(fetcher)
        revocations.isFull.withLock { $0 = true }
        #expect(await accounts.answer(request).status == .serviceUnavailable)
        revocations.isFull.withLock { $0 = false }
        #expect(await accounts.answer(request).status == .noContent)
        #expect(await fetcher.requests.count == 1, "the password is set once")
        #expect(revocations.all.count == 1)
        // From then on it is a call of its own.
        #expect(await accounts.answer(request).status == .serviceUnavailable)
        #expect(await fetcher.requests.count == 2)
    }

    @Test(
        "A repeated direct call only ends the sessions, where the first one could not",
        arguments: ["ConfirmForgotPassword", "ChangePassword"])
    func repeatedDirectly(operation: String) async throws {
        let fetcher = RecordedFetcher(Self.done)
        let calls = DirectCognitoCalls(
            pools: [DirectCognitoTests.pool(fetcher)], flow: AccountFlow(Knowing()), steps: SignInSteps { Fixture.now },
            sessions: DirectSessions { Fixture.now }, revoke: { _ in }, accounts: [try accounts(fetcher)],
            forget: { _, _ in }, revocations: { .empty }, revocationTime: { Fixture.now }, logger: log.logger)
        let input: JSONObject =
            operation == "ChangePassword"
            ? [
                "AccessToken": .string(Self.token), "PreviousPassword": "old horse",
                "ProposedPassword": "new horse",
            ]
            : [
                "ClientId": .string(Fixture.clientID), "Username": .string(Fixture.email),
                "ConfirmationCode": "123456", "Password": "new horse",
            ]
        let request = DirectCognitoRequest(
            call: DirectCognitoCall(operation: operation, application: "MyApp/1"), body: JSON.object(input).encoded(),
            requestID: "r-1", clientAddress: "192.0.2.7")
        revocations.isFull.withLock { $0 = true }
        #expect(await calls.answer(request).status == .serviceUnavailable)
        revocations.isFull.withLock { $0 = false }
        #expect(await calls.answer(request).status == .ok)
        #expect(await fetcher.requests.count == 1, "the password is set once")
        #expect(revocations.all.count == 1)
    }

    private static func answering(account: String = Fixture.email) throws -> AccountRequest {
        let asked = SealedChallenge(
            name: "NEW_PASSWORD_REQUIRED", session: "s", username: Fixture.username, account: account,
            rememberMe: true, expiresAt: Fixture.now + 60)
        let session = try asked.sealed(with: Fixture.ring(), poolID: Fixture.poolID).exposeText()
        return Fixture.request(
            .challenge,
            ["challenge": "NEW_PASSWORD_REQUIRED", "session": .string(session), "new_password": "new horse"])
    }

    @Test("A new password at sign-in ends all earlier sessions, and the sign-in goes on")
    func atSignIn() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(), Self.done)
        let accounts = try accounts(fetcher)
        var sealed = Fixture.sealed
        sealed.family = [UInt8](repeating: 2, count: 16)
        sealed.originID = "origin-2"
        try await accounts.sessions.begin(
            sealed, sealed.sealed(with: Fixture.ring(), poolID: Fixture.poolID), on: nil)
        #expect(try await accounts.answer(Self.answering()).status == .ok)
        #expect(await fetcher.operations == ["RespondToAuthChallenge", "RevokeToken"])
        #expect(try await goingOn() == ["origin-1"])
        let others = Revocation.Target.otherSignIns(
            Fixture.username, before: Fixture.now - 1, sparing: "origin-1")
        #expect(revocations.targets == [others, .originID("origin-2")])
    }

    @Test(
        "Where another challenge follows, all sessions of the user end, also of one who signs in by a new name",
        arguments: [Fixture.email, "new@example.com"])
    func beforeAnotherChallenge(account: String) async throws {
        let next = Fixture.output([
            "ChallengeName": "SOFTWARE_TOKEN_MFA", "Session": "next", "ChallengeParameters": [:],
        ])
        let accounts = try accounts(RecordedFetcher(next, Self.done, Self.done))
        try await beginSessions(accounts)
        #expect(try await accounts.answer(Self.answering(account: account)).status == .accepted)
        #expect(try await goingOn().isEmpty)
        #expect(revocations.targets.first == .subject(Fixture.username, before: Fixture.now - 1))
    }

    @Test("The sign-in goes on, and the log tells, where the other sessions could not be ended")
    func atSignInWithoutEnd() async throws {
        let accounts = try accounts(RecordedFetcher(Fixture.tokens()))
        revocations.isFull.withLock { $0 = true }
        #expect(try await accounts.answer(Self.answering()).status == .ok)
        #expect(log.lines.contains { $0.contains("the other sessions of a user with a new password could not be") })
    }

    @Test("No other challenge, no refused password and no setting against it ends a session at sign-in")
    func nothingAtSignIn() async throws {
        let refused = Fixture.failure("InvalidPasswordException")
        for (answer, ends) in [(Fixture.tokens(), false), (refused, true)] {
            let accounts = try accounts(RecordedFetcher(answer)) { $0.passwordChanges.endsOtherSessions = ends }
            _ = try await accounts.answer(Self.answering())
            #expect(revocations.all.isEmpty)
        }
    }

    @Test("A session without a record ends at its next refresh, also at Cognito")
    func withoutRecord() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: nil), Self.done)
        let accounts = try Fixture.accounts(
            fetcher, records: records, isRevoked: { $0.subject == Fixture.username })
        let answer = await accounts.answer(Fixture.refresh(try Fixture.sealedText()))
        #expect(answer.status == .unauthorized && answer.json["error"] == "TokenRefreshException")
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken"])
    }

    @Test("A refresh token that Cognito does not end fails no call, and is in the log")
    func failure() async throws {
        let fetcher = RecordedFetcher(Self.done, Fixture.failure("TooManyRequestsException"))
        let accounts = try accounts(fetcher)
        try await beginSessions(accounts)
        #expect(await accounts.answer(Self.changing).status == .noContent)
        #expect(log.lines.contains { $0.contains("sessions that ended with a new password continue at Cognito") })
        #expect(try await goingOn() == ["origin-1"])
    }
}
