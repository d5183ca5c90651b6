import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("Questions that were asked before the user's sign-ins ended")
struct EndedChallengeTests {
    private static let reset = Revocation(
        issuer: Fixture.issuer, .subject(Fixture.username, before: Fixture.now - 60), endsAt: Fixture.now + 1000)

    private static func accounts(_ fetcher: RecordedFetcher) throws -> CognitoAccounts {
        let list = RevocationList.empty.adding([reset])
        return try Fixture.accounts(fetcher, isRevoked: { list.revokes($0) })
    }

    /// The answer to a question that was asked so many seconds ago.
    private static func answering(
        _ name: String, askedBefore age: Int64, _ answer: (String, JSON), proof: SealedChallenge.Proof = .given
    ) throws -> AccountRequest {
        let asked = SealedChallenge(
            name: name, session: "s", username: Fixture.username, account: Fixture.email, rememberMe: true,
            expiresAt: Fixture.now - age + SealedChallenge.lifetime, proof: proof)
        let session = try asked.sealed(with: Fixture.ring(), poolID: Fixture.poolID).exposeText()
        return Fixture.request(
            .challenge, ["challenge": .string(name), "session": .string(session), answer.0: answer.1])
    }

    @Test(
        "A second factor signs nobody in whose proof was given before, and Cognito's refresh token ends",
        arguments: [(61, false), (60, false), (59, true), (0, true)] as [(Int64, Bool)])
    func secondFactor(age: Int64, isSignedIn: Bool) async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.output([:]))
        let answer = try await Self.accounts(fetcher).answer(
            Self.answering("SOFTWARE_TOKEN_MFA", askedBefore: age, ("code", "123456")))
        #expect(answer.status == (isSignedIn ? .ok : .unauthorized))
        let refused: Reason? = isSignedIn ? nil : .account(.expiredChallengeSession)
        #expect(answer.reason == refused)
        #expect(await fetcher.operations == ["RespondToAuthChallenge"] + (isSignedIn ? [] : ["RevokeToken"]))
        #expect(answer.text.contains("access_token") == isSignedIn)
    }

    @Test("A first factor is a proof at the time of the answer")
    func firstFactor() async throws {
        var settings = Fixture.settings()
        settings.choice.factors = [.email]
        let list = RevocationList.empty.adding([Self.reset])
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.tokens()), settings: settings, isRevoked: { list.revokes($0) })
        let answer = try await accounts.answer(
            Self.answering("EMAIL_OTP", askedBefore: 100, ("code", "123456"), proof: .missing))
        #expect(answer.status == .ok)
    }

    @Test("The questions that follow on one proof end together; a new password is a proof of its own")
    func chain() async throws {
        let next = DirectStepTests.challenge("SOFTWARE_TOKEN_MFA", session: "2")
        let rows: [(String, (String, JSON), Int64)] = [
            ("SELECT_MFA_TYPE", ("answer", "SOFTWARE_TOKEN_MFA"), Fixture.now - 100),
            ("NEW_PASSWORD_REQUIRED", ("new_password", "new horse"), Fixture.now),
        ]
        for (name, given, provenAt) in rows {
            let answer = try await Self.accounts(RecordedFetcher(next)).answer(
                Self.answering(name, askedBefore: 100, given))
            #expect(answer.status == .accepted, "\(name)")
            let session = try #require(answer.json["session"]?.stringValue)
            let asked = try SealedChallenge(opening: Secret(session), with: Fixture.ring(), poolID: Fixture.poolID)
            #expect(asked.provenAt == provenAt, "\(name)")
        }
    }
}
