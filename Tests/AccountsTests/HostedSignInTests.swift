import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Sealing
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito
@testable import Store

@Suite("Hosted sign-in")
struct HostedSignInTests {
    static let app = "com.example.app:/oauth"
    static let verifier = String(repeating: "v", count: 43)
    // The bytes of all random numbers are 9 in these tests.
    static let nonce = Base64URL.encode([UInt8](repeating: 9, count: 16))
    static let random32 = Base64URL.encode([UInt8](repeating: 9, count: 32))

    static func codes() throws -> StoredAuthorizationCodes {
        try StoredAuthorizationCodes(
            Store(path: ":memory:", migrations: StoredSessions.migrations + StoredAuthorizationCodes.migrations))
    }

    static var settings: CognitoSignInSettings {
        var settings = Fixture.settings()
        settings.hosted = HostedSignInSettings(
            domain: "https://auth.example.com", issuer: "https://api.example.com/api/v1/auth/oauth",
            redirectURIs: [RedirectURI(app)])
        return settings
    }

    static func accounts(
        _ fetcher: any Fetcher, _ codes: StoredAuthorizationCodes, now: Int64 = Fixture.now,
        records: StoredSessions? = nil
    ) throws -> CognitoAccounts {
        try Fixture.accounts(
            fetcher, settings: settings, now: now, records: records ?? StoredSessions(codes.store), codes: codes)
    }

    /// Another app client of the pool, which knows the fixture's.
    static func otherClient(
        _ fetcher: any Fetcher, _ codes: StoredAuthorizationCodes, now: Int64 = Fixture.now
    ) throws -> CognitoAccounts {
        let app = AppClient(
            poolID: Fixture.poolID, clientID: Fixture.clientID, clientSecret: Secret(Fixture.clientSecret))
        let sibling = SiblingClients.Client(app: app, sealingKeys: try Fixture.ring())
        var settings = Self.settings
        (settings.clientID, settings.clientSecret) = ("other-client", Secret("other-secret"))
        return try Fixture.accounts(
            fetcher, settings: settings, now: now, records: StoredSessions(codes.store), codes: codes,
            siblings: SiblingClients([sibling]))
    }

    /// The body of the fixture's client's RevokeToken.
    static let revocation: JSON = [
        "ClientId": .string(Fixture.clientID), "Token": "provider-refresh-token",
        "ClientSecret": .string(Fixture.clientSecret),
    ]

    static func browserRequest(_ operation: AccountOperation, _ query: String) -> AccountRequest {
        var request = Fixture.request(operation)
        request.query = query
        var head = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/")
        head.headerFields[.cookie] = "__Host-gatehouse-sign-in=\(random32)"
        request.cookies = CookiePairs(of: head)
        return request
    }

    /// The answer to a callback with the state of a sign-in that began at the fixture's time.
    static func comeBack(
        _ accounts: CognitoAccounts, _ codes: StoredAuthorizationCodes, cookie: Bool = true
    ) async throws -> AccountAnswer {
        let challenge = SHA256.codeChallenge(of: verifier)
        let query = FormEncoding.encode([
            ("response_type", "code"), ("client_id", Fixture.clientID), ("redirect_uri", app), ("state", "s"),
            ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ])
        let begin = try Self.accounts(RecordedFetcher(), codes)
        let sent = await begin.answer(browserRequest(.oauthAuthorize, String(decoding: query, as: UTF8.self)))
        let location = try #require(sent.headers[.location])
        let state = try #require(FormEncoding.values(of: "state", in: location).first ?? nil)
        var request = browserRequest(.oauthCallback, "state=\(PercentEncoding.encode(state))&code=c")
        if !cookie { request.cookies = nil }
        return await accounts.answer(request)
    }

    static func tokens(
        nonce: String = nonce, client: String = Fixture.clientID, lifetime: Int64 = 3600, signedInAt: Int64? = nil
    ) -> FetchResponse {
        let common: JSONObject = ["iss": .string(Fixture.issuer), "sub": .string(Fixture.username)]
        var access = common
        access["client_id"] = .string(client)
        access["token_use"] = "access"
        access["username"] = .string(Fixture.username)
        access["origin_jti"] = "origin-1"
        access["auth_time"] = signedInAt.map { .number(JSONNumber($0)) }
        var id = common
        id["aud"] = .string(client)
        id["token_use"] = "id"
        id["nonce"] = .string(nonce)
        id["exp"] = .number(JSONNumber(Fixture.now + 3600))
        let body: JSON = [
            "access_token": .string(Fixture.jwt(access)), "id_token": .string(Fixture.jwt(id)),
            "refresh_token": "provider-refresh-token", "expires_in": .number(JSONNumber(lifetime)),
            "token_type": "Bearer",
        ]
        return FetchResponse(status: 200, body: body.encoded())
    }

    static func redemption(by clientID: String = Fixture.clientID) -> AccountRequest {
        Fixture.request(
            .oauthToken,
            [
                "grant_type": "authorization_code", "client_id": .string(clientID),
                "code": .string(random32), "redirect_uri": .string(app), "code_verifier": .string(verifier),
            ])
    }

    @Test("A sign-in is good for ten minutes", arguments: [(599, 303), (600, 400), (601, 400)])
    func signInLifetime(_ age: Int64, _ status: Int) async throws {
        let codes = try Self.codes()
        let fetcher = RecordedFetcher(Self.tokens())
        let answer = try await Self.comeBack(Self.accounts(fetcher, codes, now: Fixture.now + age), codes)
        #expect(answer.status.code == status)
        #expect((answer.headers[.location] != nil) == (status == 303))
    }

    @Test("A code is good for a minute", arguments: [(59, 200), (60, 400), (61, 400)])
    func codeLifetime(_ age: Int64, _ status: Int) async throws {
        let codes = try Self.codes()
        let came = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        #expect(came.headers[.location]?.hasPrefix(Self.app) == true)
        let answer = try await Self.accounts(RecordedFetcher(), codes, now: Fixture.now + age)
            .answer(Self.redemption())
        #expect(answer.status.code == status)
    }

    @Test("A code is redeemed by the gateway's clock, though Cognito's dates the sign-in after the code's end")
    func clockBehind() async throws {
        let (codes, time) = (try Self.codes(), Fixture.now + 61)
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens(signedInAt: time)), codes), codes)
        let answer = try await Self.accounts(RecordedFetcher(), codes).answer(Self.redemption())
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.issuedAt == time)
        #expect(sealed.expiresAt == Fixture.now + Self.settings.refreshLifetime)
    }

    @Test("A form may say the device as JSON", arguments: [(#"{"device_id": "f1"}"#, "f1"), ("f1", nil)])
    func deviceInForm(_ device: String, _ id: String?) async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        var request = Self.redemption()
        request.contentType = "application/x-www-form-urlencoded"
        let form = FormEncoding.encode([
            ("grant_type", "authorization_code"), ("client_id", Fixture.clientID), ("code", Self.random32),
            ("redirect_uri", Self.app), ("code_verifier", Self.verifier), ("device_info", device),
        ])
        request.body = form
        let answer = try await Self.accounts(RecordedFetcher(), codes).answer(request)
        guard let id else { return #expect(answer.json["error"] == "invalid_request") }
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.deviceID == id)
    }

    @Test("A sign-in gives one code; what a second one gets from Cognito is ended there")
    func oneCode() async throws {
        let codes = try Self.codes()
        let first = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        #expect(first.status == .seeOther)
        let fetcher = RecordedFetcher(Self.tokens(), Fixture.output([:]))
        let second = try await Self.comeBack(Self.accounts(fetcher, codes), codes)
        #expect(second.status == .badRequest)
        #expect(second.headers[.location] == nil)
        #expect(await fetcher.operations.last == "RevokeToken")
    }

    @Test("Tokens of another sign-in or client are ended and lead to no code")
    func foreignTokens() async throws {
        for response in [Self.tokens(nonce: "other"), Self.tokens(client: "other")] {
            let codes = try Self.codes()
            let fetcher = RecordedFetcher(response, Fixture.output([:]))
            let answer = try await Self.comeBack(Self.accounts(fetcher, codes), codes)
            #expect(answer.headers[.location]?.contains("error=server_error") == true)
            #expect(answer.headers[.location]?.contains("code=") == false)
            #expect(await fetcher.operations.last == "RevokeToken")
        }
    }

    @Test("Tokens with an impossible lifetime lead to no code", arguments: [.max, .min, -1, 87_001] as [Int64])
    func impossibleLifetime(seconds: Int64) async throws {
        let codes = try Self.codes()
        let fetcher = RecordedFetcher(Self.tokens(lifetime: seconds))
        let answer = try await Self.comeBack(Self.accounts(fetcher, codes), codes)
        #expect(answer.headers[.location]?.contains("error=temporarily_unavailable") == true)
        #expect(answer.headers[.location]?.contains("code=") == false)
    }

    @Test("Without the browser's cookie nobody is asked")
    func cookie() async throws {
        let codes = try Self.codes()
        let fetcher = RecordedFetcher()
        let answer = try await Self.comeBack(Self.accounts(fetcher, codes), codes, cookie: false)
        #expect(answer.status == .badRequest)
        #expect(await fetcher.operations.isEmpty)
    }

    @Test("Over https the cookie is the host's own")
    func hostCookie() async throws {
        let codes = try Self.codes()
        let query =
            "response_type=code&client_id=\(Fixture.clientID)&redirect_uri=com.example.app%3A%2Foauth"
            + "&code_challenge=\(Self.random32)&code_challenge_method=S256"
        var request = Fixture.request(.oauthAuthorize)
        request.query = query
        let answer = try await Self.accounts(RecordedFetcher(), codes).answer(request)
        #expect(
            answer.headers[.setCookie]
                == "__Host-gatehouse-sign-in=\(Self.random32); Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax")
    }

    @Test(
        "Redirect URIs are compared byte for byte; a loopback address without a port allows every port",
        arguments: [
            ("com.example.app:/oauth", "com.example.app:/oauth", true),
            ("com.example.app:/oauth", "com.example.app:/oauth/", false),
            ("https://a.example/x", "https://a.example:443/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:51004/x", true),
            ("http://127.0.0.1/x", "http://127.0.0.1/x", true),
            ("http://[::1]/x", "http://[::1]:8/x", true),
            ("http://127.0.0.1:80/x", "http://127.0.0.1:81/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:0/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:65536/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:1/y/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:1@evil.example/x", false),
            ("http://127.0.0.1/x", "http://127.0.0.1:/x", false),
            ("http://127.0.0.1.evil.example/x", "http://127.0.0.1.evil.example:1/x", false),
            ("https://127.0.0.1/x", "https://127.0.0.1:1/x", false),
        ])
    func redirectURIs(_ listed: String, _ asked: String, _ isAllowed: Bool) {
        #expect(RedirectURI(listed).allows(asked) == isAllowed)
    }

    @Test("The session of a code that nobody redeems ends at Cognito once the code has ended")
    func unredeemed() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let early = RecordedFetcher()
        try await Self.accounts(early, codes, now: Fixture.now + 59).endUnredeemed()
        #expect(await early.operations.isEmpty)
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let accounts = try Self.accounts(fetcher, codes, now: Fixture.now + 60)
        await accounts.endUnredeemed()
        #expect(await fetcher.operations == ["RevokeToken"])
        #expect(await fetcher.bodies[0]["Token"] == "provider-refresh-token")
        #expect(await fetcher.bodies[0]["ClientSecret"] == .string(Fixture.clientSecret))
        await accounts.endUnredeemed()
        #expect(await fetcher.requests.count == 1, "once")
        #expect(await accounts.answer(Self.redemption()).status == .badRequest)
    }

    @Test("It ends by its own client's secret, whichever app client of the pool takes the code")
    func unredeemedOfSibling() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let other = try Self.otherClient(fetcher, codes, now: Fixture.now + 60)
        let key = try SealingKey(Secret([UInt8](repeating: 8, count: 32)))
        other.sealingKeys.adopt(SealingKeyRing(sealing: key))
        await other.endUnredeemed()
        #expect(await fetcher.operations == ["RevokeToken"])
        #expect(await fetcher.bodies == [Self.revocation])
    }

    @Test(
        "A code that another app client of the pool shows is used up, and its session ends by its own client's secret",
        arguments: [false, true])
    func codeAtSibling(isRedeemed: Bool) async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let own = try Self.accounts(RecordedFetcher(), codes)
        if isRedeemed { #expect(await own.answer(Self.redemption()).status == .ok) }
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let other = try Self.otherClient(fetcher, codes)
        #expect(await other.answer(Self.redemption(by: "other-client")).status == .badRequest)
        #expect(await fetcher.operations == ["RevokeToken"])
        #expect(await fetcher.bodies == [Self.revocation])
        #expect(await own.answer(Self.redemption()).status == .badRequest)
    }

    @Test("The session of a redeemed code goes on")
    func redeemed() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        #expect(try await Self.accounts(RecordedFetcher(), codes).answer(Self.redemption()).status == .ok)
        let fetcher = RecordedFetcher()
        try await Self.accounts(fetcher, codes, now: Fixture.now + 60).endUnredeemed()
        #expect(await fetcher.operations.isEmpty)
    }

    @Test("The metadata of RFC 8414 name the endpoints below the issuer")
    func metadata() async throws {
        let accounts = try Self.accounts(RecordedFetcher(), Self.codes())
        let issuer = "https://api.example.com/api/v1/auth/oauth"
        let expected: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
            "token_endpoint": .string("\(issuer)/token"),
            "scopes_supported": ["openid", "email", "profile", "aws.cognito.signin.user.admin"],
            "response_types_supported": ["code"], "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"], "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        ]
        #expect(accounts.authorizationServerMetadata == expected)
        #expect(try Fixture.accounts(RecordedFetcher()).authorizationServerMetadata == nil)
        #expect(
            HostedSignInSettings.metadataPath(prefix: "/api/v1/auth")
                == "/.well-known/oauth-authorization-server/api/v1/auth/oauth")
    }
}
