import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts

@Suite("Many sign-outs of one user")
struct ManySignOutsTests {
    private static let began = Fixture.now - 1000
    private static let done: Result<FetchResponse, FetchError> = .success(Fixture.output([:]))

    private let revocations = RecordedRevocations()

    private static func origin(_ number: Int) -> String { "origin-\(number)" }

    /// A call of the user's sign-in of that number. Each began a second after the one before.
    private static func call(
        _ operation: AccountOperation, by number: Int, _ body: JSON = .null
    ) -> AccountRequest {
        var request = Fixture.bearer(operation, body)
        request.identity?.claims = [
            "origin_jti": .string(origin(number)), "auth_time": .number(JSONNumber(began + Int64(number))),
        ]
        return request
    }

    private static func all(upTo number: Int) -> Revocation.Target {
        .subject(Fixture.username, before: began + Int64(number))
    }

    @Test("After 64, each further one takes one entry for all sign-ins up to its own, also after a reload")
    func logout() async throws {
        var accounts = try Fixture.accounts(RecordedFetcher(), revocations: revocations)
        // A repeated one is no further one.
        for number in [0] + Array(0..<65) {
            #expect(await accounts.answer(Self.call(.logout, by: number)).status == .noContent)
        }
        let singly = ([0] + Array(0..<64)).map { Revocation.Target.originID(Self.origin($0)) }
        #expect(revocations.targets == singly + [Self.all(upTo: 64)])
        accounts = try Fixture.accounts(RecordedFetcher(), revocations: revocations, after: accounts)
        #expect(await accounts.answer(Self.call(.logout, by: 65)).status == .noContent)
        #expect(revocations.targets.last == Self.all(upTo: 65))
    }

    @Test("A sign-out with the refresh token alone takes no further entry either")
    func refreshTokens() async throws {
        let accounts = try Fixture.accounts(
            RecordedFetcher(Array(repeating: Self.done, count: 65)), revocations: revocations)
        for number in 0..<65 {
            let text = try await Self.begin(number, accounts)
            let request = Fixture.request(.logout, ["refresh_token": .string(text.exposeText())])
            #expect(await accounts.answer(request).status == .noContent)
        }
        #expect(revocations.targets.last == Self.all(upTo: 64))
        #expect(revocations.targets.count { $0 == Self.all(upTo: 64) } == 1 && revocations.targets.count == 65)
    }

    @Test("The one entry takes the session that ends, also where Cognito's clock is ahead of the gateway's")
    func clockBehind() async throws {
        let time = JSON.number(JSONNumber(Fixture.now + 2))
        let claims: JSONObject = [
            "sub": .string(Fixture.username), "username": .string(Fixture.username), "origin_jti": "ahead",
            "auth_time": time, "iat": time,
        ]
        let result: JSONObject = [
            "AccessToken": .string(Fixture.jwt(claims)), "IdToken": .string(Fixture.idToken), "RefreshToken": "r",
            "ExpiresIn": 3600,
        ]
        let signedIn = Fixture.output(["AuthenticationResult": .object(result)])
        let accounts = try Fixture.accounts(
            RecordedFetcher(signedIn, Fixture.output([:])), revocations: revocations)
        for number in 0..<64 {
            #expect(await accounts.answer(Self.call(.logout, by: number)).status == .noContent)
        }
        let text = try #require(await accounts.answer(Fixture.login()).json["refresh_token"])
        #expect(await accounts.answer(Fixture.request(.logout, ["refresh_token": text])).status == .noContent)
        var token = Fixture.identity()
        (token.claims, token.issuedAt) = (claims, Fixture.now + 2)
        #expect(revocations.targets.count == 65)
        #expect(RevocationList.empty.adding(revocations.all).revokes(token))
    }

    @Test("Nor does signing out everywhere")
    func everywhere() async throws {
        let accounts = try Fixture.accounts(
            RecordedFetcher(Array(repeating: Self.done, count: 65)), revocations: revocations)
        for number in 0..<65 {
            let request = Self.call(.logout, by: number, ["all_devices": true])
            #expect(await accounts.answer(request).status == .noContent)
        }
        let all = Revocation.Target.subject(Fixture.username, before: Fixture.now - 1)
        #expect(revocations.targets.suffix(4) == [all, .originID(Self.origin(63)), all, Self.all(upTo: 64)])
    }

    @Test("Nor does GlobalSignOut, called directly")
    func direct() async throws {
        let (sessions, revoked) = (DirectSessions { Fixture.now }, Revoked())
        let fetcher = RecordedFetcher(Array(repeating: Self.done, count: 65))
        for number in 0..<65 {
            let token = Fixture.jwt([
                "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID),
                "sub": .string(Fixture.username), "username": .string(Fixture.username),
                "origin_jti": .string(Self.origin(number)),
                "auth_time": .number(JSONNumber(Self.began + Int64(number))),
            ])
            let body: JSONObject = ["AccessToken": .string(token)]
            let reply = await DirectCognitoTests.answer(
                fetcher, "GlobalSignOut", body.encoded(), revoked: revoked, sessions: sessions)
            #expect(reply.status == .ok)
        }
        let all = Revocation.Target.subject(Fixture.username, before: Fixture.now - 1)
        #expect(revoked.targets.suffix(4) == [all, .originID(Self.origin(63)), all, Self.all(upTo: 64)])
    }

    @Test("The end of many other sessions takes one entry, which leaves the caller's own out")
    func otherSessions() async throws {
        let accounts = try Fixture.accounts(
            RecordedFetcher(Array(repeating: Self.done, count: 69)), revocations: revocations)
        for number in 0..<70 { _ = try await Self.begin(number, accounts) }
        #expect(await accounts.answer(Self.call(.endOtherSessions, by: 3)).status == .noContent)
        let others = Revocation.Target.otherSignIns(
            Fixture.username, before: Self.began + 69, sparing: Self.origin(3))
        #expect(revocations.targets == [others])
        #expect(try await accounts.sessions.openSessions(of: Fixture.username).map(\.originID) == [Self.origin(3)])
    }

    @Test("Entries that have ended count no more, and each user has as many")
    func window() {
        let known = SinglyRevokedSignIns()
        func targets(_ numbers: Range<Int>, of subject: String = "ada", at now: Int64 = 0) -> [Revocation.Target] {
            known.targets(
                for: Set(numbers.map(Self.origin)), of: subject, signedInUntil: 7, until: now + 100, at: now)
        }
        #expect(targets(0..<0).isEmpty)
        #expect(targets(0..<64).count == 64)
        #expect(targets(64..<65) == [.subject("ada", before: 7)])
        #expect(targets(0..<64).count == 64, "those that have their entries")
        #expect(targets(64..<65, of: "ben") == [.originID("origin-64")])
        #expect(targets(64..<65, at: 99) == [.subject("ada", before: 7)])
        #expect(targets(64..<65, at: 100) == [.originID("origin-64")])
    }

    /// - Returns: the session's refresh token.
    private static func begin(_ number: Int, _ accounts: CognitoAccounts) async throws -> Secret {
        var sealed = Fixture.sealed
        sealed.family = [UInt8](repeating: UInt8(number), count: 16)
        (sealed.originID, sealed.issuedAt) = (origin(number), began + Int64(number))
        let text = try Fixture.sealedText(sealed)
        try await accounts.sessions.begin(sealed, text, on: nil)
        return text
    }
}
