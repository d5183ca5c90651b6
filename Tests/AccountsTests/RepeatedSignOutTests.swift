import Cognito
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite("Translated sign-outs that an app has to repeat")
struct RepeatedSignOutTests {
    private static let lost: Result<FetchResponse, FetchError> = .failure(.timedOut)
    private static let done: Result<FetchResponse, FetchError> = .success(Fixture.output([:]))

    private let sessions = DirectSessions { Fixture.now }
    private let revoked = Revoked()

    private func send(
        _ operation: String, _ body: JSONObject, _ fetcher: RecordedFetcher, revocations: RevocationList = .empty,
        at time: Int64 = Fixture.now
    ) async -> DirectCognitoReply {
        await DirectCognitoTests.answer(
            fetcher, operation, body.encoded(), revoked: revoked, sessions: sessions, revocations: revocations,
            revocationTime: time)
    }

    // MARK: Of one session

    private static let oneSession: JSONObject = ["Token": "r", "ClientId": .string(Fixture.clientID)]

    @Test("The session is known again when Cognito's response to RevokeToken was lost")
    func lostRevokeToken() async throws {
        let exchanged = Result<FetchResponse, FetchError>.success(Fixture.tokens(refreshToken: nil))
        let fetcher = RecordedFetcher([exchanged, Self.lost, Self.done])
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .serviceUnavailable)
        #expect(revoked.targets.isEmpty)
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .ok)
        #expect(revoked.targets == [.originID("origin-1")])
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken", "RevokeToken"])
    }

    @Test("The session is known again when its access tokens could not be ended")
    func accessTokensNotEnded() async throws {
        let exchanged = Result<FetchResponse, FetchError>.success(Fixture.tokens(refreshToken: nil))
        let fetcher = RecordedFetcher([exchanged, Self.done, Self.done])
        revoked.fail(true)
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .serviceUnavailable)
        revoked.fail(false)
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .ok)
        #expect(revoked.targets == [.originID("origin-1")])
    }

    @Test("A token that the exchange has put in the app's token's place ends first: no other attempt knows it")
    func successor() async throws {
        let fetcher = RecordedFetcher([.success(Fixture.tokens()), Self.done, Self.lost, Self.done])
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .serviceUnavailable)
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .ok)
        #expect(await fetcher.bodies.dropFirst().map { $0["Token"] } == ["provider-refresh-token", "r", "r"])
        #expect(revoked.targets == [.originID("origin-1")])
    }

    @Test(
        "While a trigger fails by which the session would be known, the token does not end either",
        arguments: ["UnexpectedLambdaException", "InvalidLambdaResponseException"])
    func failingTrigger(type: String) async throws {
        let fetcher = RecordedFetcher([.success(Fixture.failure(type)), Self.done])
        #expect(await send("RevokeToken", Self.oneSession, fetcher).status == .serviceUnavailable)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken"])
    }

    @Test(
        "A sign-out that leaves access tokens is in the log",
        arguments: [
            ("UserLambdaValidationException", "PreTokenGeneration failed with error no.", true),
            ("NotAuthorizedException", "User is disabled.", true),
            ("NotAuthorizedException", "Refresh Token has been revoked", false),
        ])
    func unknownSession(type: String, message: String, isLogged: Bool) async throws {
        let log = CapturedLog()
        let fetcher = RecordedFetcher([.success(Fixture.failure(type, message)), Self.done])
        let reply = await DirectCognitoTests.answer(fetcher, "RevokeToken", Self.oneSession.encoded(), log: log)
        #expect(reply.status == .ok)
        #expect(log.lines.contains { $0.contains("does not end the session's access tokens") } == isLogged)
    }

    // MARK: Of all sessions

    private static let allSessions: JSONObject = [
        "AccessToken": .string(
            Fixture.jwt([
                "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID),
                "sub": .string(Fixture.username), "origin_jti": "origin-1",
            ]))
    ]
    /// Sign-ins since the first attempt are spared.
    private static let ended: [Revocation.Target] = [
        .subject(Fixture.username, before: Fixture.now - 1), .originID("origin-1"),
    ]

    private static func refused(_ message: String) -> Result<FetchResponse, FetchError> {
        .success(Fixture.failure("NotAuthorizedException", message))
    }
    private static let revokedToken = refused("Access Token has been revoked")

    @Test("A revoked token is done with when Cognito's response to GlobalSignOut was lost, and once only")
    func lostGlobalSignOut() async throws {
        let fetcher = RecordedFetcher([Self.lost, Self.revokedToken, Self.revokedToken])
        #expect(await send("GlobalSignOut", Self.allSessions, fetcher).status == .serviceUnavailable)
        #expect(revoked.targets.isEmpty)
        let reply = await send("GlobalSignOut", Self.allSessions, fetcher, at: Fixture.now + 60)
        #expect(reply.status == .ok && reply.body == Array("{}".utf8) && reply.subject == Fixture.username)
        #expect(revoked.targets == Self.ended)
        let third = await send("GlobalSignOut", Self.allSessions, fetcher, at: Fixture.now + 90)
        #expect(third.status == .badRequest)
        #expect(revoked.targets == Self.ended)
    }

    private static let ownSession = RevocationList.empty.adding([
        Revocation(issuer: Fixture.issuer, .originID("origin-1"), endsAt: Fixture.now + 86_400)
    ])

    @Test("A lost GlobalSignOut is done with also when the app has signed its own session out meanwhile, and once only")
    func lostAndListed() async throws {
        let fetcher = RecordedFetcher([Self.lost, Self.revokedToken, Self.revokedToken])
        #expect(await send("GlobalSignOut", Self.allSessions, fetcher).status == .serviceUnavailable)
        let reply = await send(
            "GlobalSignOut", Self.allSessions, fetcher, revocations: Self.ownSession, at: Fixture.now + 60)
        #expect(reply.status == .ok && reply.body == Array("{}".utf8))
        #expect(revoked.targets == Self.ended)
        let third = await send(
            "GlobalSignOut", Self.allSessions, fetcher, revocations: Self.ownSession, at: Fixture.now + 90)
        #expect(third.status == .badRequest)
        #expect(revoked.targets == Self.ended)
        #expect(await fetcher.operations == ["GlobalSignOut", "GetUser", "GetUser"])
    }

    @Test(
        "A token on the revocation list ends nothing by a lost GlobalSignOut that was not carried out",
        arguments: [done, refused("Invalid Access Token")])
    func listedAlone(answer: Result<FetchResponse, FetchError>) async throws {
        let fetcher = RecordedFetcher([Self.lost, answer])
        #expect(await send("GlobalSignOut", Self.allSessions, fetcher).status == .serviceUnavailable)
        let reply = await send("GlobalSignOut", Self.allSessions, fetcher, revocations: Self.ownSession)
        #expect(reply.status == .badRequest && revoked.targets.isEmpty)
        #expect(await fetcher.operations == ["GlobalSignOut", "GetUser"])
    }

    @Test(
        "Nothing ends by the repetition of a lost call that does not show it was carried out",
        arguments: [
            ("GlobalSignOut", "GlobalSignOut", "Invalid Access Token"),
            ("GetUser", "GlobalSignOut", "Access Token has been revoked"),
            ("DeleteUser", "GlobalSignOut", "Access Token has been revoked"),
            ("DeleteUser", "DeleteUser", "Access Token has been revoked"),
        ])
    func notShown(lost: String, repeated: String, message: String) async throws {
        let fetcher = RecordedFetcher([Self.lost, Self.refused(message)])
        #expect(await send(lost, Self.allSessions, fetcher).status == .serviceUnavailable)
        #expect(await send(repeated, Self.allSessions, fetcher).status == .badRequest)
        #expect(revoked.targets.isEmpty && revoked.forgotten.isEmpty)
    }

    @Test(
        "A repetition only ends the access tokens, where the first attempt could not",
        arguments: ["GlobalSignOut", "DeleteUser"])
    func onlyAccessTokens(operation: String) async throws {
        let fetcher = RecordedFetcher([Self.done, Self.revokedToken])
        revoked.fail(true)
        #expect(await send(operation, Self.allSessions, fetcher).status == .serviceUnavailable)
        revoked.fail(false)
        // A revocation that cannot be stored counts in this process all the same.
        let list = RevocationList.empty.adding(
            Self.ended.map { Revocation(issuer: Fixture.issuer, $0, endsAt: Fixture.now + 86_400) })
        let reply = await send(operation, Self.allSessions, fetcher, revocations: list, at: Fixture.now + 60)
        #expect(reply.status == .ok)
        #expect(revoked.targets == Self.ended)
        #expect(await fetcher.operations == [operation])
        // From then on the token is a revoked one.
        let third = await send(operation, Self.allSessions, fetcher, revocations: list)
        #expect(third.status == .badRequest)
        #expect(await fetcher.operations == [operation, "GetUser"])
    }

    @Test("An attempt is known for ten minutes, by its operation and its token")
    func attempts() {
        let time = Mutex<Int64>(0)
        let attempts = UnfinishedSignOuts { time.withLock { $0 } }
        var call = TranslatedCall("GlobalSignOut", [:])
        call.tokenDigest = "d"
        attempts.note(UnfinishedSignOuts.Attempt(isCarriedOut: true, time: 7), of: call)
        var (otherToken, otherOperation) = (call, call)
        otherToken.tokenDigest = "e"
        otherOperation.operation = "DeleteUser"
        time.withLock { $0 = 599 }
        #expect(attempts.attempt(of: call)?.time == 7)
        #expect(attempts.attempt(of: otherToken) == nil && attempts.attempt(of: otherOperation) == nil)
        time.withLock { $0 = 600 }
        #expect(attempts.attempt(of: call) == nil)
    }
}
