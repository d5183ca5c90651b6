import Cryptography
import Encoding
import Foundation
import HTTPClient
import Pipeline
import TestSupport
import Testing

@testable import Sessions

@Suite("Calls of Apple's token endpoint")
struct AppleClientTests {
    typealias Fixture = AppleFixture

    /// The fields of a form as they were before they were encoded.
    static func form(_ request: FetchRequest?) -> [String: String] {
        let pairs = String(decoding: request?.body ?? [], as: UTF8.self).split(separator: "&").map { pair in
            pair.split(separator: "=", omittingEmptySubsequences: false).map { part in
                part.replacing("+", with: " ").removingPercentEncoding ?? ""
            }
        }
        return Dictionary(pairs.map { ($0[0], $0[1]) }) { first, _ in first }
    }

    static func answer(_ status: Int, _ body: JSON) -> FetchResponse {
        FetchResponse(status: status, body: body.encoded())
    }

    @Test("A code is exchanged with a client secret of the app's that Apple can check")
    func exchange() async throws {
        let idToken = "e30." + Base64URL.encode((["sub": .string(Fixture.subject)] as JSON).encoded()) + ".eA"
        let fetcher = RecordedFetcher(
            Self.answer(200, ["refresh_token": "r1", "access_token": "a1", "id_token": .string(idToken)]))
        let grant = try await Fixture.client(fetcher).exchange(code: Secret("c+1 &=\u{e9}"), clientID: Fixture.app)
        #expect(grant.refreshToken.exposeText() == "r1")
        #expect(grant.subject == Fixture.subject)
        let request = try #require(await fetcher.requests.first)
        #expect(request.method == "POST" && request.url == "https://appleid.apple.com/auth/token")
        #expect(request.headers.contains { $0 == ("Content-Type", "application/x-www-form-urlencoded") })
        var form = Self.form(request)
        let secret = try #require(form["client_secret"])
        form["client_secret"] = nil
        #expect(
            form == ["client_id": Fixture.app, "grant_type": "authorization_code", "code": "c+1 &=\u{e9}"])
        try Self.check(secret)
    }

    /// As RFC 7519, 7.2 has it, with the key's public half: the signature is r and s, not DER.
    static func check(_ secret: String) throws {
        let token = try #require(UnverifiedToken(Array(secret.utf8)))
        #expect(token.header == ["alg": "ES256", "kid": "KEY1234567", "typ": "JWT"])
        #expect(
            token.payload == [
                "iss": "TEAM123456", "iat": .number(JSONNumber(Fixture.now)),
                "exp": .number(JSONNumber(Fixture.now + 300)), "aud": "https://appleid.apple.com",
                "sub": .string(Fixture.app),
            ])
        let parts = secret.split(separator: ".")
        let signature = try #require(Base64URL.decode(Array(parts[2].utf8)))
        #expect(signature.count == 64)
        let key = try P256SigningKey(pem: Secret(Fixture.key)).verificationKey()
        #expect(key.verify(signature: signature, of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .es256))
    }

    @Test("A refresh token is validated and revoked")
    func refreshToken() async throws {
        let fetcher = RecordedFetcher(Self.answer(200, ["access_token": "a"]), FetchResponse(status: 200))
        let client = try Fixture.client(fetcher)
        try await client.validate(refreshToken: Secret("r1"), clientID: Fixture.app)
        try await client.revoke(refreshToken: Secret("r1"), clientID: Fixture.driverApp)
        let requests = await fetcher.requests
        #expect(
            requests.map(\.url).map { $0.suffix(13) } == [".com/auth/token", "com/auth/revoke"].map { $0.suffix(13) })
        var forms = requests.map(Self.form)
        for index in forms.indices { forms[index]["client_secret"] = nil }
        #expect(forms[0] == ["client_id": Fixture.app, "grant_type": "refresh_token", "refresh_token": "r1"])
        #expect(forms[1] == ["client_id": Fixture.driverApp, "token": "r1", "token_type_hint": "refresh_token"])
    }

    static let failures: [(answer: Result<FetchResponse, FetchError>, kind: AppleClientErrorKind, name: String)] = [
        (.success(answer(400, ["error": "invalid_grant"])), .invalidGrant, "invalid_grant"),
        (.success(answer(400, ["error": "invalid_client"])), .misconfigured, "invalid_client"),
        (.success(answer(401, ["error": "invalid_client"])), .misconfigured, "invalid_client"),
        (.success(answer(400, ["error": "unauthorized_client"])), .misconfigured, "unauthorized_client"),
        (.success(answer(400, ["error": "unsupported_grant_type"])), .misconfigured, "unsupported_grant_type"),
        (.success(answer(400, ["error": "invalid_request"])), .refused, "invalid_request"),
        (.success(answer(429, ["error": "invalid_grant"])), .unavailable, "status-429"),
        (.success(answer(500, ["error": "invalid_grant"])), .unavailable, "status-500"),
        (.success(answer(400, ["error": "<html>\r\n"])), .unavailable, "status-400"),
        (.success(answer(302, [:])), .unavailable, "status-302"),
        (.success(answer(200, [:])), .unavailable, "no-refresh-token"),
        (.success(answer(200, ["refresh_token": ""])), .unavailable, "no-refresh-token"),
        (.success(FetchResponse(status: 200, body: Array("<html>".utf8))), .unavailable, "unreadable-answer"),
        (.failure(.timedOut), .unavailable, "timed-out"),
        (.failure(.cannotConnect("curl's words")), .unavailable, "cannot-connect"),
        (.failure(.responseTooLarge), .unavailable, "answer-too-large"),
    ]

    @Test("Whose fault a failure is, is told apart", arguments: failures)
    func failure(
        _ test: (answer: Result<FetchResponse, FetchError>, kind: AppleClientErrorKind, name: String)
    ) async throws {
        let client = try Fixture.client(RecordedFetcher([test.answer]))
        do throws(AppleClientError) {
            _ = try await client.exchange(code: Secret("c"), clientID: Fixture.app)
            Issue.record("exchanged")
        } catch {
            #expect(error.kind == test.kind && error.name == test.name)
            if case .failure(let reason) = test.answer { #expect(error.noAnswer == reason) }
        }
    }

    @Test("What fails to be revoked or validated says so")
    func revocationFails() async throws {
        let answers = Array(repeating: Self.answer(400, ["error": "invalid_grant"]), count: 2)
        let client = try Fixture.client(RecordedFetcher(answers.map { .success($0) }))
        await #expect(throws: AppleClientError(.invalidGrant, "invalid_grant")) {
            try await client.validate(refreshToken: Secret("r"), clientID: Fixture.app)
        }
        await #expect(throws: AppleClientError(.invalidGrant, "invalid_grant")) {
            try await client.revoke(refreshToken: Secret("r"), clientID: Fixture.app)
        }
    }
}
