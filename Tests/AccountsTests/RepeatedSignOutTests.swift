import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
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
        _ operation: String, _ body: JSONObject, _ fetcher: RecordedFetcher
    ) async -> DirectCognitoReply {
        await DirectCognitoTests.answer(fetcher, operation, body.encoded(), revoked: revoked, sessions: sessions)
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
}
