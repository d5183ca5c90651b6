import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts

@Suite("Sessions of released apps that go on at the gateway")
struct TakeoverTests {
    static let former = "7formerpublicclient"
    static let raw = String(repeating: "eyJjdHkiOiJKV1QiLCJlbmMiOiJBMjU2R0NNIn0", count: 5)
    static let foreign = Fixture.failure("NotAuthorizedException", "Invalid Refresh Token")

    static func settings(_ clientIDs: [String] = [Fixture.clientID, former]) -> CognitoSignInSettings {
        var settings = Fixture.settings()
        settings.sessionTakeover = SessionTakeover(clientIDs: clientIDs)
        return settings
    }

    static func request(_ more: JSONObject = [:], token: String = raw) -> AccountRequest {
        var body: JSONObject = ["refresh_token": .string(token)]
        for (name, value) in more { body[name] = value }
        return Fixture.request(.refresh, .object(body))
    }

    /// Cognito's response to a refresh of a session that began at this time.
    static func tokens(
        signedInAt: Int64? = Fixture.now - 1000, rotated: String? = nil, more: JSONObject = [:]
    ) -> FetchResponse {
        var claims: JSONObject = [
            "sub": .string(Fixture.username), "username": .string(Fixture.username), "origin_jti": "origin-9",
        ]
        claims["auth_time"] = signedInAt.map { .number(JSONNumber($0)) }
        for (name, value) in more { claims[name] = value }
        var result: JSONObject = ["AccessToken": .string(Fixture.jwt(claims)), "ExpiresIn": 3600]
        result["RefreshToken"] = rotated.map(JSON.string)
        return Fixture.output(["AuthenticationResult": .object(result)])
    }

    static func opened(_ answer: AccountAnswer) throws -> SealedRefreshToken {
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        return try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
    }

    @Test(
        "A token is exchanged as the client's that it is of, and all that follows is that client's",
        arguments: [nil, "rotated-token"])
    func client(rotated: String?) async throws {
        let fetcher = RecordedFetcher(
            Self.foreign, Self.tokens(rotated: rotated), Self.tokens(), FetchResponse(status: 200))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        let answer = await accounts.answer(Self.request(["device_key": "eu-west-1_aa"]))
        #expect(answer.status == .ok && answer.json["user"] == nil && answer.subject == Fixture.username)
        let sealed = try Self.opened(answer)
        #expect(sealed.clientID == Self.former && sealed.refreshToken.exposeText() == rotated ?? Self.raw)
        #expect((sealed.originID, sealed.deviceKey) == ("origin-9", "eu-west-1_aa"))
        #expect(sealed.issuedAt == Fixture.now - 1000)
        #expect(sealed.expiresAt == Fixture.now - 1000 + Fixture.settings().refreshLifetime)
        let next = try #require(answer.json["refresh_token"]?.stringValue)
        let newer = await accounts.answer(Fixture.refresh(Secret(next)))
        let last: JSON = ["refresh_token": newer.json["refresh_token"] ?? .null]
        #expect(await accounts.answer(Fixture.request(.logout, last)).status == .noContent)
        let bodies = await fetcher.bodies
        #expect(await fetcher.operations == Array(repeating: "GetTokensFromRefreshToken", count: 3) + ["RevokeToken"])
        #expect(
            bodies.map { $0["ClientId"] } == [.string(Fixture.clientID)]
                + Array(repeating: .string(Self.former), count: 3))
        #expect(bodies.map { $0["ClientSecret"] } == [.string(Fixture.clientSecret), nil, nil, nil])
        #expect(bodies.map { $0["DeviceKey"] } == ["eu-west-1_aa", "eu-west-1_aa", "eu-west-1_aa", nil])
    }

    @Test("Only the client that an app names is asked for, and none that is not listed")
    func named() async throws {
        let fetcher = RecordedFetcher(Self.tokens())
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        #expect(await accounts.answer(Self.request(["client_id": "9other"])).status == .unauthorized)
        #expect(await fetcher.requests.isEmpty)
        #expect(await accounts.answer(Self.request(["client_id": .string(Self.former)])).status == .ok)
        #expect(await fetcher.bodies.map { $0["ClientId"] } == [.string(Self.former)])
    }

    @Test(
        "Cognito is not asked about a text that can be no such token",
        arguments: [
            "short", String(repeating: "a", count: 63), raw + "é", raw + " ", "v2.key." + raw, "a.b." + raw,
            raw + "\"", raw + "/", Fixture.jwt(["sub": "a"]) + raw,
        ])
    func impossible(token: String) async throws {
        let fetcher = RecordedFetcher()
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        let answer = await accounts.answer(Self.request(token: token))
        #expect(answer.status == .unauthorized && answer.json["error"] == "TokenRefreshException")
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("Without the setting no token of Cognito's is looked at")
    func notConfigured() async throws {
        let fetcher = RecordedFetcher()
        let answer = try await Fixture.accounts(fetcher).answer(Self.request(["client_id": .string(Self.former)]))
        #expect(answer.status == .unauthorized && answer.json["error"] == "TokenRefreshException")
        #expect(try await Fixture.accounts(fetcher).answer(Self.logout()).status == .noContent)
        #expect(await fetcher.requests.isEmpty)
    }

    static func logout(hasBearer: Bool = false) -> AccountRequest {
        let body: JSON = ["refresh_token": .string(raw)]
        return hasBearer ? Fixture.bearer(.logout, body) : Fixture.request(.logout, body)
    }

    @Test("A shown token signs out of the session that it has become, here and at Cognito", arguments: [false, true])
    func signOut(hasBearer: Bool) async throws {
        let fetcher = RecordedFetcher(Self.tokens(rotated: "rotated-token"), Fixture.output([:]))
        let revocations = RecordedRevocations()
        let accounts = try Fixture.accounts(
            fetcher, settings: Self.settings([Self.former]), revocations: revocations)
        #expect(await accounts.answer(Self.request()).status == .ok)
        #expect(await accounts.answer(Self.logout(hasBearer: hasBearer)).status == .noContent)
        let origins = (hasBearer ? ["origin-1"] : []) + ["origin-9"]
        #expect(revocations.targets == origins.map(Revocation.Target.originID))
        let again = await accounts.answer(Self.request())
        #expect(again.status == .unauthorized && again.reason == .account(.sessionEnded))
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken"])
        let expected: JSON = ["ClientId": .string(Self.former), "Token": "rotated-token"]
        #expect(await fetcher.bodies.last == expected)
    }

    @Test("A sign-out that did not reach Cognito can be repeated")
    func signOutAgain() async throws {
        let fetcher = RecordedFetcher(
            Self.tokens(), Fixture.failure("InternalErrorException"), Fixture.output([:]))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings([Self.former]))
        #expect(await accounts.answer(Self.request()).status == .ok)
        #expect(await accounts.answer(Self.logout()).status == .serviceUnavailable)
        #expect(await accounts.answer(Self.logout()).status == .noContent)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken", "RevokeToken"])
        #expect(await fetcher.bodies.last?["Token"] == .string(Self.raw))
    }

    @Test("A shown token that has become no session ends at Cognito, as the client's that it is of")
    func signOutBefore() async throws {
        let foreign = Fixture.failure("UnauthorizedException", "The token is another client's.")
        let fetcher = RecordedFetcher(foreign, Fixture.output([:]))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        #expect(await accounts.answer(Self.logout(hasBearer: true)).status == .noContent)
        #expect(await fetcher.operations == ["RevokeToken", "RevokeToken"])
        let bodies = await fetcher.bodies
        #expect(bodies.map { $0["ClientId"] } == [.string(Fixture.clientID), .string(Self.former)])
        #expect(bodies.map { $0["Token"] } == [.string(Self.raw), .string(Self.raw)])
    }

    @Test("The session of somebody else's token goes on")
    func signOutOther() async throws {
        let fetcher = RecordedFetcher(Self.tokens(more: ["sub": "another", "username": "another"]))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        #expect(await accounts.answer(Self.request()).status == .ok)
        #expect(await accounts.answer(Self.logout(hasBearer: true)).status == .noContent)
        #expect(await accounts.answer(Self.request()).status == .ok)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken"])
    }

    @Test("Cognito's clock dates a sign-in, also ahead of the gateway's, and makes its session no longer")
    func clockBehind() async throws {
        for (ahead, noted) in [(2, 2), (601, 600)] as [(Int64, Int64)] {
            let fetcher = RecordedFetcher(Self.tokens(signedInAt: Fixture.now + ahead))
            let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
            let sealed = try Self.opened(await accounts.answer(Self.request()))
            #expect(sealed.issuedAt == Fixture.now + noted)
            let record = try await accounts.sessions.records.session(sealed.family)
            #expect(record?.signedInAt == Fixture.now)
            #expect(sealed.expiresAt == Fixture.now + Fixture.settings().refreshLifetime)
        }
    }

    @Test("A session that is over by the gateway's own lifetime ends at Cognito too")
    func tooOld() async throws {
        let signedInAt = Fixture.now - Fixture.settings().refreshLifetime
        let fetcher = RecordedFetcher(
            Self.tokens(signedInAt: signedInAt, rotated: "rotated-token"), FetchResponse(status: 200))
        let answer = try await Fixture.accounts(fetcher, settings: Self.settings()).answer(Self.request())
        #expect(answer.status == .unauthorized && answer.json["error"] == "TokenRefreshException")
        #expect(answer.reason == .account(.expiredRefreshToken))
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken"])
        #expect(await fetcher.bodies.last?["Token"] == "rotated-token")
    }

    @Test("A sign-in that the revocation list names ends, though its new tokens are younger")
    func revoked() async throws {
        let fetcher = RecordedFetcher(
            Self.tokens(more: ["iat": .number(JSONNumber(Fixture.now))]), FetchResponse(status: 200))
        let accounts = try Fixture.accounts(
            fetcher, settings: Self.settings(),
            isRevoked: { $0.subject == Fixture.username && ($0.issuedAt ?? 0) == Fixture.now - 1000 })
        let answer = await accounts.answer(Self.request())
        #expect(answer.status == .unauthorized && answer.reason == .account(.sessionEnded))
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "RevokeToken"])
    }

    @Test(
        "Failures that are not about the token's client end the attempt",
        arguments: [
            ("NotAuthorizedException", "User is disabled.", 403, "UserDisabledException"),
            ("NotAuthorizedException", "Refresh Token has expired", 401, "TokenRefreshException"),
            ("NotAuthorizedException", "Unable to verify secret hash", 503, "IdentityProviderUnavailableException"),
            ("TooManyRequestsException", "", 429, "TooManyRequestsException"),
            ("InternalErrorException", "", 503, "IdentityProviderUnavailableException"),
        ])
    func failures(type: String, message: String, status: Int, error: String) async throws {
        let fetcher = RecordedFetcher(Fixture.failure(type, message))
        let answer = try await Fixture.accounts(fetcher, settings: Self.settings()).answer(Self.request())
        #expect(answer.status.code == status && answer.json["error"] == .string(error))
        #expect(await fetcher.requests.count == 1)
    }

    @Test("A token that no client has is refused like every other")
    func nobodys() async throws {
        let unauthorized = Fixture.failure("UnauthorizedException", "Unable to verify client")
        let fetcher = RecordedFetcher(Self.foreign, unauthorized)
        let answer = try await Fixture.accounts(fetcher, settings: Self.settings()).answer(Self.request())
        #expect(answer.status == .unauthorized && answer.json["error"] == "TokenRefreshException")
    }

    @Test("The session is bound to the device that showed the token, for the retry too: another device ends it")
    func device() async throws {
        let fetcher = RecordedFetcher(Self.tokens(), Fixture.output([:]))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings())
        let (phone, other) = (JSON.string("phone-1"), JSON.string("phone-2"))
        let first = await accounts.answer(Self.request(["device_info": ["device_id": phone, "platform": "ios"]]))
        #expect(try Self.opened(first).deviceID == "phone-1")
        let retry = await accounts.answer(Self.request(["device_info": ["device_id": phone, "platform": "ios"]]))
        #expect(retry.json["refresh_token"] == first.json["refresh_token"])
        #expect(await fetcher.requests.count == 1)
        let reuse = await accounts.answer(Self.request(["device_info": ["device_id": other, "platform": "ios"]]))
        #expect(reuse.status == .unauthorized && reuse.reason == .account(.refreshTokenReused))
        #expect(await fetcher.operations.last == "RevokeToken")
        let ended = await accounts.answer(Self.request(["device_info": ["device_id": phone, "platform": "ios"]]))
        #expect(ended.status == .unauthorized && ended.reason == .account(.sessionEnded))
    }

    @Test("A client that is listed no longer has no sessions here")
    func unlisted() async throws {
        let records = try Fixture.records()
        let first = await
            (try Fixture.accounts(
                RecordedFetcher(Self.tokens()), settings: Self.settings([Self.former]), records: records))
            .answer(Self.request())
        let token = try #require(first.json["refresh_token"]?.stringValue)
        let fetcher = RecordedFetcher()
        let accounts = try Fixture.accounts(fetcher, records: records)
        #expect(await accounts.answer(Fixture.refresh(Secret(token))).status == .unauthorized)
        let logout = Fixture.request(.logout, ["refresh_token": .string(token)])
        #expect(await accounts.answer(logout).status == .noContent)
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("Limits count a shown token by itself, and the audit has the user once it is known")
    func call() async throws {
        let observer = RecordedCalls()
        let accounts = try Fixture.accounts(
            RecordedFetcher(Self.tokens()), settings: Self.settings(), accountGuard: observer)
        _ = await accounts.answer(Self.request())
        let call = try #require(observer.entries.last?.call)
        #expect(call.tokenDigest == Base64URL.encode(SHA256.hash(Array(Self.raw.utf8))))
        #expect(call.subject == Fixture.username)
    }
}
