import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("GET me")
struct ProfileTests {
    private static let output: JSON = [
        "Username": .string(Fixture.username),
        "UserAttributes": .array(
            [
                ("sub", Fixture.username), ("email", Fixture.email), ("email_verified", "true"), ("name", "Ada"),
                ("phone_number_verified", "false"), ("custom:plan", "gold"),
            ].map { ["Name": .string($0.0), "Value": .string($0.1)] }),
    ]

    @Test("Cognito is asked with the caller's token, and the answer is the user")
    func success() async throws {
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: Self.output.encoded()))
        let answer = try await Fixture.accounts(fetcher).answer(request())
        #expect(await fetcher.operations == ["GetUser"])
        #expect(await fetcher.bodies == [["AccessToken": .string(Fixture.accessToken)]])
        #expect(answer.status == .ok)
        #expect(answer.subject == Fixture.username)
        #expect(answer.headers[.cacheControl] == "no-store")
        let expected: JSON = [
            "id": .string(Fixture.username), "email": .string(Fixture.email), "email_verified": true,
            "name": "Ada", "username": .string(Fixture.username), "groups": ["beta"],
            "attributes": ["phone_number_verified": false, "custom:plan": "gold"],
        ]
        #expect(answer.json == expected)
    }

    private static let ownAccountCalls: [(AccountOperation, JSON)] = [
        (.sessions, .null), (.endSession, .null), (.endOtherSessions, .null),
        (EmailAttribute.change, ["email": "new@example.com", "current_password": "guess"]),
        (PhoneAttribute.change, ["phone_number": "+4915112345678", "current_password": "guess"]),
    ]

    @Test(
        "A token without the scope of the own account is refused before anything else of the call is looked at",
        arguments: ownAccountCalls)
    func scope(operation: AccountOperation, body: JSON) async throws {
        let (observer, fetcher) = (RecordedCalls(), RecordedFetcher())
        var request = Fixture.bearer(operation, body)
        request.identity = Fixture.identity(scopes: ["openid", "email"])
        let answer = try await Fixture.accounts(fetcher, accountGuard: observer).answer(request)
        #expect(answer.status == .forbidden)
        #expect(answer.reason == .cognito(.scopeMissing))
        #expect(await fetcher.requests.isEmpty)
        #expect(observer.entries.allSatisfy { $0.call.guess == nil })
    }

    @Test("Without a verified access token of this pool nobody is asked")
    func notOurs() async throws {
        let identities: [VerifiedToken?] = [
            nil, Fixture.identity(tokenUse: .id), Fixture.identity(issuer: "https://appleid.apple.com"),
        ]
        for identity in identities {
            let fetcher = RecordedFetcher()
            var request = self.request()
            request.identity = identity
            let answer = try await Fixture.accounts(fetcher).answer(request)
            #expect(answer.status == .unauthorized)
            #expect(answer.json["error"]?.stringValue == "NotAuthorizedException")
            let challenge = identity == nil ? "Bearer" : #"Bearer error="invalid_token""#
            #expect(answer.headers[.wwwAuthenticate] == challenge)
            #expect(await fetcher.requests.isEmpty)
        }
        var request = self.request()
        request.bearer = nil
        #expect(try await Fixture.accounts(RecordedFetcher()).answer(request).status == .unauthorized)
    }

    @Test(
        "Each failure of Cognito's has its own answer",
        arguments: [
            Row("NotAuthorizedException", "Access Token has been revoked", 401, "NotAuthorizedException"),
            Row("NotAuthorizedException", "Access Token has expired", 401, "TokenExpiredException"),
            Row("UserNotFoundException", "User does not exist.", 401, "NotAuthorizedException"),
            Row("NotAuthorizedException", "User is disabled.", 403, "UserDisabledException"),
            Row("PasswordResetRequiredException", "", 403, "PasswordResetRequiredException"),
            Row("TooManyRequestsException", "", 429, "TooManyRequestsException"),
            Row("InternalErrorException", "", 503, "IdentityProviderUnavailableException"),
        ])
    func failures(row: LoginTests.Row) async throws {
        let fetcher = RecordedFetcher(Fixture.failure(row.type, row.message))
        let answer = try await Fixture.accounts(fetcher).answer(request())
        #expect(answer.status.code == row.status)
        #expect(answer.json["error"]?.stringValue == row.error)
    }

    @Test("A user without name or sub is no user", arguments: ["{}", #"{"Username":"u","UserAttributes":[]}"#])
    func unreadable(output: String) async throws {
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: Array(output.utf8)))
        #expect(try await Fixture.accounts(fetcher).answer(request()).status == .serviceUnavailable)
    }

    private func request() -> AccountRequest {
        var request = Fixture.request(.me)
        request.bearer = Secret(Fixture.accessToken)
        request.identity = Fixture.identity()
        return request
    }

    typealias Row = LoginTests.Row
}
