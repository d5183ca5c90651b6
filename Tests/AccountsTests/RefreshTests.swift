import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Sealing
import Store
import TestSupport
import Testing

@testable import Accounts

@Suite("POST refresh")
struct RefreshTests {
    @Test("GetTokensFromRefreshToken gets the provider's token and the raw secret")
    func wire() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: nil))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.refresh(Fixture.sealedText()))
        #expect(answer.status == .ok)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken"])
        let expected: JSON = [
            "ClientId": .string(Fixture.clientID), "RefreshToken": "provider-refresh-token",
            "ClientSecret": .string(Fixture.clientSecret),
        ]
        #expect(await fetcher.bodies == [expected])
    }

    @Test("The answer is tokens without a user")
    func success() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: nil))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.refresh(Fixture.sealedText()))
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.subject == Fixture.username)
        var json = try #require(answer.json.objectValue)
        json["refresh_token"] = nil
        let expected: JSONObject = [
            "access_token": .string(Fixture.accessToken), "token_type": "Bearer", "expires_in": 3600,
            "scope": "aws.cognito.signin.user.admin",
        ]
        #expect(json == expected)
    }

    @Test(
        "The client's new refresh token holds the newest provider token and ends when the first one did",
        arguments: [(nil, "provider-refresh-token"), ("rotated", "rotated")] as [(String?, String)])
    func resealed(rotated: String?, expected: String) async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: rotated))
        let answer = try await Fixture.accounts(fetcher, now: Fixture.now + 500)
            .answer(Fixture.refresh(Fixture.sealedText()))
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.refreshToken.exposeText() == expected)
        #expect(sealed.expiresAt == Fixture.sealed.expiresAt)
        #expect(sealed.issuedAt == Fixture.sealed.issuedAt)
        #expect(sealed.family == Fixture.sealed.family)
        #expect(sealed.deviceID == "device-1")
        #expect(sealed.username == Fixture.username)
    }

    @Test(
        "A pool without the operation gets REFRESH_TOKEN_AUTH with the real user's hash, from then on at once",
        arguments: ["UnknownOperationException", "UnsupportedOperationException"])
    func fallback(type: String) async throws {
        let fetcher = RecordedFetcher(
            Fixture.failure(type), Fixture.tokens(refreshToken: nil), Fixture.tokens(refreshToken: nil))
        let accounts = try Fixture.accounts(fetcher)
        for family in [1, 2] as [UInt8] {
            #expect(try await accounts.answer(Fixture.refresh(Self.token(ofFamily: family))).status == .ok)
        }
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "InitiateAuth", "InitiateAuth"])
        let bodies = await fetcher.bodies
        let parameters: JSON = [
            "REFRESH_TOKEN": "provider-refresh-token", "SECRET_HASH": .string(Fixture.usernameHash),
        ]
        let expected: JSON = [
            "AuthFlow": "REFRESH_TOKEN_AUTH", "ClientId": .string(Fixture.clientID), "AuthParameters": parameters,
        ]
        #expect(bodies[1] == expected)
        #expect(bodies[2] == expected)
    }

    private static func settings(_ keys: [String]) -> CognitoSignInSettings {
        var settings = Fixture.settings()
        settings.choice.metadataKeys = keys
        return settings
    }

    private static func refresh(_ metadata: JSON, _ token: Secret? = nil) throws -> AccountRequest {
        let token = try token ?? Fixture.sealedText()
        return Fixture.request(.refresh, ["refresh_token": .string(token.exposeText()), "client_metadata": metadata])
    }

    @Test("Listed client_metadata goes to the triggers, by either operation")
    func metadata() async throws {
        let fetcher = RecordedFetcher(
            Fixture.failure("UnknownOperationException"), Fixture.tokens(refreshToken: nil))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(["campaign"]))
        #expect(try await accounts.answer(Self.refresh(["campaign": "spring"])).status == .ok)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "InitiateAuth"])
        for body in await fetcher.bodies { #expect(body["ClientMetadata"] == ["campaign": "spring"]) }
    }

    @Test("Another key of client_metadata is refused, and nobody is asked", arguments: [[], ["campaign"]])
    func foreignMetadata(listed: [String]) async throws {
        let fetcher = RecordedFetcher()
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(listed))
        let answer = try await accounts.answer(Self.refresh(["role": "admin"]))
        #expect(answer.status == .unprocessableContent)
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("Requests with other metadata share the exchange of one token")
    func sharedMetadata() async throws {
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(["campaign"]))
        let token = try Fixture.sealedText()
        async let first = accounts.answer(Self.refresh(["campaign": "spring"], token))
        async let second = accounts.answer(Self.refresh(["campaign": "autumn"], token))
        while await accounts.flights.waiting < 2 { await Task.yield() }
        await fetcher.open()
        let answers = try await [first, second]
        #expect(answers.map(\.status) == [.ok, .ok])
        #expect(answers[0].json["refresh_token"] == answers[1].json["refresh_token"])
        #expect(await fetcher.calls == 1)
    }

    @Test("An invalid parameter falls back for this call only")
    func fallbackOnce() async throws {
        let fetcher = RecordedFetcher(
            Fixture.failure("InvalidParameterException", "no such action"), Fixture.tokens(refreshToken: nil),
            Fixture.tokens(refreshToken: nil))
        let accounts = try Fixture.accounts(fetcher)
        for family in [1, 2] as [UInt8] {
            _ = try await accounts.answer(Fixture.refresh(Self.token(ofFamily: family)))
        }
        #expect(
            await fetcher.operations == ["GetTokensFromRefreshToken", "InitiateAuth", "GetTokensFromRefreshToken"])
    }

    @Test(
        "Each failure of Cognito's has its own answer",
        arguments: [
            Row("NotAuthorizedException", "Refresh Token has been revoked", 401, "TokenRefreshException"),
            Row("NotAuthorizedException", "Refresh Token has expired", 401, "TokenRefreshException"),
            Row("NotAuthorizedException", "Invalid Refresh Token", 401, "TokenRefreshException"),
            Row("RefreshTokenReuseException", "", 401, "TokenRefreshException"),
            Row("UserNotFoundException", "User does not exist.", 401, "TokenRefreshException"),
            Row("NotAuthorizedException", "User is disabled.", 403, "UserDisabledException"),
            Row("UserLambdaValidationException", "PreTokenGeneration failed", 403, "UserLambdaValidationException"),
            Row("TooManyRequestsException", "", 429, "TooManyRequestsException"),
            Row(
                "NotAuthorizedException", "Unable to verify secret hash for client", 503,
                "IdentityProviderUnavailableException"),
            Row("ResourceNotFoundException", "", 503, "IdentityProviderUnavailableException"),
        ])
    func failures(row: Row) async throws {
        let fetcher = RecordedFetcher(Fixture.failure(row.type, row.message))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.refresh(Fixture.sealedText()))
        #expect(answer.status.code == row.status)
        #expect(answer.json["error"]?.stringValue == row.error)
        #expect(answer.headers[.wwwAuthenticate] == (row.status == 401 ? "Bearer" : nil))
        #expect((answer.headers[.retryAfter] != nil) == (row.status == 429 || row.status == 503))
        #expect(await fetcher.requests.count == 1)
    }

    @Test("Tokens with a lifetime that Cognito gives none are 503", arguments: [.max, .min, -1, 87_001] as [Int64])
    func impossibleLifetime(seconds: Int64) async throws {
        let result: JSON = ["AccessToken": .string(Fixture.accessToken), "ExpiresIn": .number(JSONNumber(seconds))]
        let fetcher = RecordedFetcher(Fixture.output(["AuthenticationResult": result]))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.refresh(Fixture.sealedText()))
        #expect(answer.status == .serviceUnavailable)
    }

    @Test("A token changed, expired, revoked, or of another client or pool: one answer for all")
    func oneAnswer() async throws {
        var expired = Fixture.sealed
        expired.expiresAt = Fixture.now
        var otherClient = Fixture.sealed
        otherClient.clientID = "another"
        let otherPool = try Fixture.sealed.sealed(with: Fixture.ring(), poolID: "another")
        let texts = [
            Secret("nonsense"), Secret(try Fixture.sealedText().exposeText() + "A"), try Fixture.sealedText(expired),
            try Fixture.sealedText(otherClient), otherPool,
        ]
        let revoked = RecordedFetcher(Fixture.failure("NotAuthorizedException", "Refresh Token has been revoked"))
        let expected = try await Fixture.accounts(revoked).answer(Fixture.refresh(Fixture.sealedText()))
        for text in texts {
            let fetcher = RecordedFetcher()
            let answer = try await Fixture.accounts(fetcher).answer(Fixture.refresh(text))
            #expect(answer.status == .unauthorized)
            #expect(answer.headers == expected.headers)
            #expect(answer.body == expected.body)
            #expect(await fetcher.requests.isEmpty, "Cognito is not asked")
        }
    }

    @Test("While keys cannot be read, a token of a key that another gateway may have made is 503 and not 401")
    func newerKey() async throws {
        let fetcher = RecordedFetcher()
        let accounts = try Fixture.accounts(fetcher)
        let newer = SealingKeyRing(sealing: try SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        let sealed = try Fixture.sealed.sealed(with: newer, poolID: Fixture.poolID)
        let changed = Secret(try Fixture.sealedText().exposeText() + "A")
        let rows: [(isBehind: Bool, text: Secret, status: Int)] = [
            (false, sealed, 401), (true, sealed, 503), (true, changed, 401), (true, Secret("nonsense"), 401),
            (true, Secret("v2..AAAA"), 401), (false, sealed, 401),
        ]
        for row in rows {
            accounts.sealingKeys.setBehind(row.isBehind)
            let answer = await accounts.answer(Fixture.refresh(row.text))
            #expect(answer.status.code == row.status)
            #expect((answer.headers[.retryAfter] != nil) == (row.status == 503))
        }
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("A change to any byte of the token is 401 with one message")
    func everyByte() async throws {
        let fetcher = RecordedFetcher()
        let accounts = try Fixture.accounts(fetcher)
        let text = try Fixture.sealedText().expose()
        var bodies: Set<[UInt8]> = []
        for position in text.indices {
            var changed = text
            changed[position] ^= 1
            let answer = await accounts.answer(Fixture.refresh(Secret(changed)))
            #expect(answer.status == .unauthorized, "byte \(position)")
            bodies.insert(answer.body)
        }
        #expect(bodies.count == 1)
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("Concurrent refreshes of one token share one call and one answer")
    func singleFlight() async throws {
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let accounts = try Fixture.accounts(fetcher)
        let request = Fixture.refresh(try Fixture.sealedText())
        let answers = await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await accounts.answer(request) } }
            while await accounts.flights.waiting < 8 { await Task.yield() }
            await fetcher.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await fetcher.calls == 1)
        #expect(answers.count == 8)
        #expect(Set(answers.map(\.body)).count == 1)
        #expect(answers.allSatisfy { $0.status == .ok })
    }

    @Test("What takes over joins the refreshes that are under way, unless it serves another client")
    func flightsAcrossReload() async throws {
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let before = try Fixture.accounts(fetcher)
        let after = try Fixture.accounts(fetcher, after: before)
        let request = Fixture.refresh(try Fixture.sealedText())
        async let first = before.answer(request)
        while await before.flights.waiting < 1 { await Task.yield() }
        async let second = after.answer(request)
        while await after.flights.waiting < 2 { await Task.yield() }
        await fetcher.open()
        let answers = await [first, second]
        #expect(answers.map(\.status) == [.ok, .ok])
        #expect(await fetcher.calls == 1)
        var settings = Fixture.settings()
        settings.clientID = "another"
        #expect(try Fixture.accounts(fetcher, settings: settings, after: before).flights !== before.flights)
    }

    @Test("A caller who hangs up does not take the answer from the others")
    func hangUp() async throws {
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let accounts = try Fixture.accounts(fetcher)
        let request = Fixture.refresh(try Fixture.sealedText())
        let first = Task { await accounts.answer(request) }
        while await accounts.flights.waiting < 1 { await Task.yield() }
        let second = Task { await accounts.answer(request) }
        while await accounts.flights.waiting < 2 { await Task.yield() }
        first.cancel()
        await fetcher.open()
        #expect(await second.value.status == .ok)
        #expect(await fetcher.calls == 1)
    }

    @Test("A refresh that is under way does not bring back the session of a user who is deleted meanwhile")
    func deletedMeanwhile() async throws {
        let records = try Fixture.records()
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: "rotated"))
        let accounts = try Fixture.accounts(fetcher, records: records)
        let token = try Fixture.sealedText()
        try await accounts.sessions.begin(Fixture.sealed, token, on: nil)
        async let refreshed = accounts.answer(Fixture.refresh(token))
        while await fetcher.calls < 1 { await Task.yield() }
        let other = try Fixture.accounts(RecordedFetcher(Fixture.output([:])), records: records)
        #expect(await other.answer(Fixture.bearer(.deleteMe)).status == .noContent)
        await fetcher.open()
        let answer = await refreshed
        #expect(answer.status == .unauthorized && answer.reason == .account(.sessionEnded))
        #expect(try await records.all(subject: Fixture.username, poolID: Fixture.poolID).isEmpty)
    }

    @Test("Different tokens do not wait for each other, and a finished flight is not reused")
    func separateFlights() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: nil), Fixture.tokens(refreshToken: nil))
        let accounts = try Fixture.accounts(fetcher)
        var other = Fixture.sealed
        other.family = [UInt8](repeating: 8, count: 16)
        for token in [try Fixture.sealedText(), try Fixture.sealedText(other)] {
            #expect(await accounts.answer(Fixture.refresh(token)).status == .ok)
        }
        #expect(await fetcher.requests.count == 2)
        #expect(await accounts.flights.waiting == 0)
    }

    @Test("The log gets why a token was refused, the client does not")
    func reasons() async throws {
        var expired = Fixture.sealed
        expired.expiresAt = Fixture.now
        let accounts = try Fixture.accounts(RecordedFetcher())
        #expect(
            try await accounts.answer(Fixture.refresh(Fixture.sealedText(expired))).reason?.code
                == "expired-refresh-token")
        #expect(await accounts.answer(Fixture.refresh(Secret("x"))).reason?.code == "invalid-refresh-token")
    }

    @Test("Those who watch hear which session a token is of, also of one that has expired")
    func session() async throws {
        var expired = Fixture.sealed
        expired.expiresAt = Fixture.now
        expired.originID = nil
        let observer = RecordedCalls()
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.tokens(refreshToken: nil)), accountGuard: observer)
        let began = Fixture.sealed.issuedAt
        _ = await accounts.answer(Fixture.refresh(try Fixture.sealedText()))
        #expect(
            observer.entries.last?.call.session
                == Fixture.sealed.originID.map { CalledSession(id: $0, beganAt: began) })
        _ = await accounts.answer(Fixture.refresh(try Fixture.sealedText(expired)))
        #expect(observer.entries.last?.call.session?.beganAt == began)
        #expect(observer.entries.last?.call.session?.id == Hexadecimal.encode(expired.family))
        _ = await accounts.answer(Fixture.refresh(Secret("x")))
        #expect(observer.entries.last?.call.session == nil)
    }

    private static func token(ofFamily family: UInt8) throws -> Secret {
        var sealed = Fixture.sealed
        sealed.family = [UInt8](repeating: family, count: 16)
        return try Fixture.sealedText(sealed)
    }

    typealias Row = LoginTests.Row

    @Test("Who joins the refresh of a client that has gone is judged for itself", .timeLimit(.minutes(10)))
    func joinedAbandoned() async throws {
        let flights = RefreshFlights<Int>()
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        async let gone = flights.outcome(for: [1]) {
            for await _ in opened { break }
            return .failure(.retryLater(.serviceUnavailable, after: 1, reason: .request(.clientDisconnected)))
        }
        while await flights.waiting < 1 { await Task.yield() }
        async let here = flights.outcome(for: [1]) { .success(7) }
        while await flights.waiting < 2 { await Task.yield() }
        open.yield()
        #expect(try await here.get() == 7)
        #expect(await gone.failure?.reason == .request(.clientDisconnected))
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
