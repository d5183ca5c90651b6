import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

@Suite("Direct Cognito calls carried out with the secret")
struct DirectCognitoTests {
    static let former = "7formerpublicclient"

    /// The verdict on an access token whose signature nobody looks at.
    static func verified(_ token: Secret) -> Verdict {
        let parts = token.exposeText().utf8.split(separator: UInt8(ascii: "."))
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            let claims = (try? JSON.parse(payload))?.objectValue, let subject = claims["sub"]?.stringValue
        else { return .rejected(.malformedToken) }
        return .verified(
            VerifiedToken(
                issuer: Fixture.issuer, issuerName: "pool", subject: subject, tokenUse: .access,
                clientID: Fixture.clientID, username: claims["username"]?.stringValue, expires: Fixture.now + 3600,
                claims: claims, keyID: "key-1"))
    }

    static func pool(
        _ fetcher: any Fetcher = RecordedFetcher(), propagating: Bool = false,
        verify: @escaping DirectCognitoPool.TokenVerification = { DirectCognitoTests.verified($0) }
    ) -> DirectCognitoPool {
        var settings = Fixture.settings()
        settings.endpoint = "https://cognito.test/"
        settings.propagateClientAddress = propagating
        settings.choice.metadataKeys = ["a", "campaign"]
        return DirectCognitoPool(settings: settings, fetcher: fetcher, formerClientIDs: [former], verify: verify)
    }

    static func translate(
        _ operation: String, _ input: JSONObject, propagating: Bool = false
    ) throws(DirectCognitoRefusal) -> TranslatedCall {
        try DirectCognitoTranslation(pool: pool(propagating: propagating)).call(
            operation, input, clientAddress: "192.0.2.7")
    }

    static func answer(
        _ fetcher: RecordedFetcher, _ operation: String?, _ body: [UInt8], log: CapturedLog = CapturedLog(),
        accountGuard: any AccountGuard = RecordedCalls(), revoked: Revoked = Revoked(),
        sessions: DirectSessions? = nil, shared: SharedValues? = nil, revocations: RevocationList = .empty,
        revocationTime: Int64 = Fixture.now, accounts: [CognitoAccounts] = [],
        verify: @escaping DirectCognitoPool.TokenVerification = { DirectCognitoTests.verified($0) }
    ) async -> DirectCognitoReply {
        let calls = DirectCognitoCalls(
            pools: [pool(fetcher, verify: verify)], flow: AccountFlow(accountGuard), steps: SignInSteps { Fixture.now },
            sessions: sessions ?? DirectSessions { Fixture.now }, shared: shared,
            revoke: { revocations in try revoked.append(revocations) }, accounts: accounts,
            forget: { subject, _ in revoked.forget(subject) }, revocations: { revocations },
            revocationTime: { revocationTime }, logger: log.logger)
        return await calls.answer(
            DirectCognitoRequest(
                call: DirectCognitoCall(operation: operation, application: "MyApp/1"), body: body, requestID: "r-1",
                clientAddress: "192.0.2.7"))
    }

    @Test("While nobody knows what is revoked, a call with an access token does not reach Cognito")
    func revocationsTooOld() async throws {
        let list = RevocationList.empty.marked(tooOld: true)
        let body = JSON.object(["AccessToken": .string(Self.accessToken)]).encoded()
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let refused = await Self.answer(fetcher, "GetUser", body, revocations: list)
        #expect(refused.status == .serviceUnavailable)
        #expect(await fetcher.requests.isEmpty)
        #expect(await Self.answer(fetcher, "GetUser", body).status == .ok)
    }

    // MARK: Where the secret goes

    @Test(
        "Operations with a user name get SecretHash over exactly that name",
        arguments: ["SignUp", "ConfirmSignUp", "ResendConfirmationCode", "ForgotPassword", "ConfirmForgotPassword"])
    func secretHashes(operation: String) throws {
        let input: JSONObject = [
            "ClientId": .string(Fixture.clientID), "Username": .string(Fixture.email), "SecretHash": "the app's own",
            "Password": "p", "ClientMetadata": ["a": "b"],
        ]
        let call = try Self.translate(operation, input)
        #expect(call.operation == operation)
        #expect(call.account == Fixture.email)
        var expected = input
        expected["SecretHash"] = .string(Fixture.emailHash)
        #expect(call.input == expected)
        #expect(call.asFormerClient == nil)
    }

    @Test(
        "Of ClientMetadata the listed keys reach the pool's triggers, and no others",
        arguments: [
            (["campaign": "spring", "role": "admin", "Campaign": "x"], ["campaign": "spring"]),
            (["a": "1", "campaign": "2"], ["a": "1", "campaign": "2"]), (["role": "admin"], nil), ([:], nil),
            (.null, nil),
        ] as [(JSON, JSON?)])
    func metadata(_ given: JSON, _ passed: JSON?) throws {
        let client = JSON.string(Fixture.clientID)
        let parameters: JSON = ["USERNAME": .string(Fixture.email), "REFRESH_TOKEN": "r"]
        let calls: [(String, JSONObject)] = [
            ("SignUp", ["ClientId": client, "Username": .string(Fixture.email)]),
            ("InitiateAuth", ["ClientId": client, "AuthFlow": "USER_AUTH", "AuthParameters": parameters]),
            ("InitiateAuth", ["ClientId": client, "AuthFlow": "REFRESH_TOKEN_AUTH", "AuthParameters": parameters]),
            ("RespondToAuthChallenge", ["ClientId": client, "ChallengeResponses": parameters]),
            ("GetTokensFromRefreshToken", ["ClientId": .string(Self.former), "RefreshToken": "r"]),
            ("UpdateUserAttributes", ["AccessToken": .string(Self.accessToken)]),
        ]
        for (operation, input) in calls {
            var input = input
            input["ClientMetadata"] = given
            // Whether Cognito reads a member whose name is spelled otherwise is not known.
            input["clientMetadata"] = ["role": "admin"]
            let call = try Self.translate(operation, input)
            for sent in [call.input, call.asFormerClient ?? call.input] {
                #expect(sent["ClientMetadata"] == passed, "\(operation)")
                #expect(sent["clientMetadata"] == nil, "\(operation)")
            }
        }
    }

    @Test("ClientMetadata that is no object is no call of Cognito's", arguments: ["x", ["x"], 1] as [JSON])
    func malformedMetadata(_ given: JSON) {
        let input: JSONObject = [
            "ClientId": .string(Fixture.clientID), "Username": .string(Fixture.email), "ClientMetadata": given,
        ]
        #expect(throws: DirectCognitoRefusal.malformed) { try Self.translate("ForgotPassword", input) }
    }

    @Test("Sign-ins get SECRET_HASH among their parameters", arguments: ["USER_PASSWORD_AUTH", "USER_SRP_AUTH"])
    func signIn(flow: String) throws {
        let call = try Self.translate(
            "InitiateAuth",
            [
                "AuthFlow": .string(flow), "ClientId": .string(Fixture.clientID),
                "AuthParameters": ["USERNAME": .string(Fixture.email), "SRP_A": "ab"],
            ])
        #expect(call.operation == "InitiateAuth")
        #expect(call.input["AuthParameters"]?["SECRET_HASH"] == .string(Fixture.emailHash))
        #expect(call.input["AuthParameters"]?["SRP_A"] == "ab")
    }

    @Test("Answers to challenges are hashed with the name in them, which is Cognito's own")
    func challenge() throws {
        let call = try Self.translate(
            "RespondToAuthChallenge",
            [
                "ChallengeName": "PASSWORD_VERIFIER", "ClientId": .string(Fixture.clientID),
                "ChallengeResponses": ["USERNAME": .string(Fixture.username), "TIMESTAMP": "t"],
            ])
        #expect(call.input["ChallengeResponses"]?["SECRET_HASH"] == .string(Fixture.usernameHash))
        #expect(call.account == Fixture.username)
    }

    @Test(
        "Refreshing in the old way becomes the operation that takes the secret itself",
        arguments: [
            "REFRESH_TOKEN_AUTH", "REFRESH_TOKEN",
        ])
    func refresh(flow: String) throws {
        let call = try Self.translate(
            "InitiateAuth",
            [
                "AuthFlow": .string(flow), "ClientId": .string(Fixture.clientID),
                "AuthParameters": ["REFRESH_TOKEN": "r", "DEVICE_KEY": "d", "SECRET_HASH": "x"],
                "UserContextData": ["EncodedData": "e"],
            ])
        #expect(call.operation == "GetTokensFromRefreshToken")
        #expect(
            call.input == [
                "RefreshToken": "r", "ClientId": .string(Fixture.clientID), "DeviceKey": "d",
                "ClientSecret": .string(Fixture.clientSecret),
            ])
        #expect(call.isTranslatedRefresh)
    }

    @Test(
        "Tokens are refreshed and revoked with the secret itself",
        arguments: [
            ("GetTokensFromRefreshToken", "RefreshToken"), ("RevokeToken", "Token"),
        ])
    func clientSecret(operation: String, name: String) throws {
        let input: JSONObject = [name: "r", "ClientId": .string(Fixture.clientID), "ClientSecret": "guess"]
        let call = try Self.translate(operation, input)
        #expect(call.input["ClientSecret"] == .string(Fixture.clientSecret))
        #expect(call.asFormerClient == nil)
    }

    static let accessToken = Fixture.jwt([
        "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID), "sub": .string(Fixture.username),
        "username": .string(Fixture.username),
    ])

    @Test("What has an access token goes on as it is")
    func accessToken() throws {
        let input: JSONObject = ["AccessToken": .string(Self.accessToken), "UserAttributes": [["Name": "locale"]]]
        let call = try Self.translate("UpdateUserAttributes", input)
        #expect(call.input == input)
        #expect(call.claimed.subject == Fixture.username)
        let session: JSONObject = ["Session": "s", "UserCode": "123456"]
        #expect(try Self.translate("VerifySoftwareToken", session).input == session)
    }

    @Test(
        "Who signs out everywhere, or is gone, has no access token any more",
        arguments: ["GlobalSignOut", "DeleteUser"])
    func endedTokens(operation: String) async throws {
        let token = Fixture.jwt([
            "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID), "sub": .string(Fixture.username),
            "origin_jti": "o-1",
        ])
        let body: JSONObject = ["AccessToken": .string(token)]
        let revoked = Revoked()
        let refused = RecordedFetcher(Fixture.failure("NotAuthorizedException", "Access Token has been revoked"))
        _ = await Self.answer(refused, operation, body.encoded(), revoked: revoked)
        #expect(revoked.targets == [])
        let reply = await Self.answer(
            RecordedFetcher(FetchResponse(status: 200)), operation, body.encoded(), revoked: revoked)
        #expect(reply.status == .ok)
        #expect(revoked.targets == [.subject(Fixture.username, before: Fixture.now - 1), .originID("o-1")])
        #expect(revoked.all.allSatisfy { $0.endsAt == Fixture.now + 86_400 + 600 }, "a day and the longest clock skew")
    }

    @Test("A user who is gone at Cognito already is deleted; a token that is refused ends nothing")
    func deletedAgain() async throws {
        let token = Fixture.jwt([
            "iss": .string(Fixture.issuer), "client_id": .string(Fixture.clientID), "sub": .string(Fixture.username),
        ])
        let body: JSONObject = ["AccessToken": .string(token)]
        let revoked = Revoked()
        let gone = Fixture.failure("UserNotFoundException", "User does not exist.")
        for operation in ["GetUser", "GlobalSignOut"] {
            let reply = await Self.answer(RecordedFetcher(gone), operation, body.encoded(), revoked: revoked)
            #expect(reply.status == .badRequest)
        }
        #expect(revoked.targets.isEmpty && revoked.forgotten.isEmpty)
        let observer = RecordedCalls()
        let reply = await Self.answer(
            RecordedFetcher(gone), "DeleteUser", body.encoded(), accountGuard: observer, revoked: revoked)
        #expect(reply.status == .ok && reply.body == Array("{}".utf8) && reply.subject == Fixture.username)
        #expect(revoked.forgotten == [Fixture.username])
        #expect(revoked.targets == [.subject(Fixture.username, before: Fixture.now - 1)])
        guard case .succeeded = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("Of a sign-in that an observer does not let count nobody has the tokens, and its refresh token ends")
    func takenBack() async throws {
        let observer = RecordedCalls(end: .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)))
        let fetcher = RecordedFetcher(Fixture.tokens(), FetchResponse(status: 200))
        let reply = await Self.answer(
            fetcher, "InitiateAuth", DirectCognitoObserverTests.signIn(), accountGuard: observer)
        #expect(reply.status == .serviceUnavailable)
        #expect(await fetcher.operations == ["InitiateAuth", "RevokeToken"])
        let expected: JSON = [
            "ClientId": .string(Fixture.clientID), "Token": "provider-refresh-token",
            "ClientSecret": .string(Fixture.clientSecret),
        ]
        #expect(await fetcher.bodies.last == expected)
    }

    // MARK: Former clients

    @Test("A former client's calls are made as the configured one's")
    func formerClient() throws {
        let call = try Self.translate(
            "SignUp", ["ClientId": .string(Self.former), "Username": .string(Fixture.email)])
        #expect(call.input["ClientId"] == .string(Fixture.clientID))
        #expect(call.input["SecretHash"] == .string(Fixture.emailHash))
    }

    @Test("A session from before there was a secret is refreshed as the former client")
    func formerSession() async throws {
        let fetcher = RecordedFetcher(
            Fixture.failure("NotAuthorizedException", "Invalid Refresh Token"), Fixture.tokens(refreshToken: nil))
        let body: JSONObject = [
            "AuthFlow": "REFRESH_TOKEN_AUTH", "ClientId": .string(Self.former),
            "AuthParameters": ["REFRESH_TOKEN": "old"],
        ]
        let reply = await Self.answer(fetcher, "InitiateAuth", body.encoded())
        #expect(reply.status == .ok)
        let bodies = await fetcher.bodies
        #expect(bodies.map { $0["ClientId"] } == [.string(Fixture.clientID), .string(Self.former)])
        #expect(bodies.map { $0["ClientSecret"] } == [.string(Fixture.clientSecret), nil])
    }

    @Test("Where that fails as well the first refusal is the answer")
    func formerSessionRefused() async throws {
        let fetcher = RecordedFetcher(
            Fixture.failure("NotAuthorizedException", "Refresh Token has expired"),
            Fixture.failure("ResourceNotFoundException", "gone"))
        let body: JSONObject = ["RefreshToken": "old", "ClientId": .string(Self.former)]
        let reply = await Self.answer(fetcher, "GetTokensFromRefreshToken", body.encoded())
        #expect(reply.status.code == 400)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("expired"))
    }

    @Test("A revoked session of the former client ends at Cognito as that client's, without the secret")
    func formerSessionRevoked() async throws {
        let access = Fixture.jwt([
            "iss": .string(Fixture.issuer), "client_id": .string(Self.former), "sub": .string(Fixture.username),
            "auth_time": .number(JSONNumber(Fixture.now - 60)),
        ])
        let fetcher = RecordedFetcher(
            Fixture.failure("NotAuthorizedException", "Invalid Refresh Token"),
            Fixture.output(["AuthenticationResult": ["AccessToken": .string(access), "ExpiresIn": 3600]]),
            Fixture.output([:]))
        let log = CapturedLog()
        let revoked = Revocation(
            issuer: Fixture.issuer, .subject(Fixture.username, before: Fixture.now), endsAt: Fixture.now + 60)
        let body: JSONObject = ["RefreshToken": "old", "ClientId": .string(Self.former)]
        let reply = await Self.answer(
            fetcher, "GetTokensFromRefreshToken", body.encoded(), log: log,
            revocations: RevocationList.empty.adding([revoked]), accounts: [try Fixture.accounts(fetcher, log: log)])
        #expect(try JSON.parse(reply.body)["__type"] == "NotAuthorizedException")
        #expect(
            await fetcher.operations == ["GetTokensFromRefreshToken", "GetTokensFromRefreshToken", "RevokeToken"])
        let expected: JSON = ["ClientId": .string(Self.former), "Token": "old"]
        #expect(await fetcher.bodies.last == expected)
        #expect(!log.lines.contains { $0.hasPrefix("error ") })
    }

    @Test("An app's device data goes along only with the client id that it was signed with")
    func deviceData() throws {
        func context(_ client: String, propagating: Bool) throws -> JSON? {
            try Self.translate(
                "SignUp",
                [
                    "ClientId": .string(client), "Username": "u",
                    "UserContextData": ["EncodedData": "e", "IpAddress": "203.0.113.9"],
                ], propagating: propagating
            ).input["UserContextData"]
        }
        #expect(try context(Fixture.clientID, propagating: false) == ["EncodedData": "e"])
        #expect(try context(Fixture.clientID, propagating: true) == ["EncodedData": "e", "IpAddress": "192.0.2.7"])
        #expect(try context(Self.former, propagating: false) == nil)
        #expect(try context(Self.former, propagating: true) == ["IpAddress": "192.0.2.7"])
    }

    // MARK: Refusals

    struct Case: Sendable, CustomTestStringConvertible {
        var operation: String
        var body: String
        var type: String
        var testDescription: String { "\(operation) \(body.prefix(80))" }
    }

    static let foreign = Fixture.jwt(["iss": "https://evil.example", "client_id": .string(Fixture.clientID)])
    static let otherClients = Fixture.jwt(["iss": .string(Fixture.issuer), "client_id": "9other"])
    static let id = #""ClientId":"\#(Fixture.clientID)""#

    @Test(
        "What is not carried out is refused in Cognito's shape, and Cognito is not asked",
        arguments: [
            Case(operation: "AdminGetUser", body: "{}", type: "ForbiddenException"),
            Case(operation: "ListUsers", body: "{}", type: "ForbiddenException"),
            Case(operation: "UpdateAuthEventFeedback", body: "{}", type: "ForbiddenException"),
            Case(operation: "other", body: "{}", type: "ForbiddenException"),
            Case(operation: "SignUp", body: "", type: "SerializationException"),
            Case(operation: "SignUp", body: "[]", type: "SerializationException"),
            Case(operation: "SignUp", body: #"{"Username":"a","Username":"b"}"#, type: "SerializationException"),
            Case(operation: "SignUp", body: #"{"Username":"a","User\u006eame":"b"}"#, type: "SerializationException"),
            Case(operation: "SignUp", body: String(repeating: "[", count: 30_000), type: "SerializationException"),
            Case(operation: "SignUp", body: #"{"Username":"a"}"#, type: "InvalidParameterException"),
            Case(operation: "SignUp", body: "{\(id)}", type: "InvalidParameterException"),
            Case(operation: "SignUp", body: #"{\#(id),"Username":7}"#, type: "InvalidParameterException"),
            Case(operation: "SignUp", body: #"{\#(id),"Username":"a\u0000"}"#, type: "InvalidParameterException"),
            Case(operation: "SignUp", body: #"{"ClientId":"other","Username":"a"}"#, type: "ResourceNotFoundException"),
            Case(operation: "SignUp", body: #"{"ClientId":["x"],"Username":"a"}"#, type: "InvalidParameterException"),
            Case(operation: "InitiateAuth", body: "{\(id)}", type: "InvalidParameterException"),
            Case(
                operation: "InitiateAuth", body: #"{\#(id),"AuthFlow":"ADMIN_USER_PASSWORD_AUTH"}"#,
                type: "InvalidParameterException"),
            Case(
                operation: "InitiateAuth", body: #"{\#(id),"AuthFlow":"USER_SRP_AUTH","AuthParameters":[]}"#,
                type: "InvalidParameterException"),
            Case(
                operation: "RespondToAuthChallenge", body: #"{\#(id),"ChallengeResponses":{}}"#,
                type: "InvalidParameterException"),
            Case(
                operation: "GetUser", body: #"{"AccessToken":"\#(foreign)"}"#, type: "NotAuthorizedException"),
            Case(
                operation: "GetUser", body: #"{"AccessToken":"\#(otherClients)"}"#, type: "NotAuthorizedException"),
            Case(operation: "GetUser", body: #"{"AccessToken":"x"}"#, type: "NotAuthorizedException"),
            Case(
                operation: "SignUp", body: #"{"a":"\#(String(repeating: "a", count: 65_600))"}"#,
                type: "RequestEntityTooLargeException"),
        ])
    func refusals(example: Case) async throws {
        let fetcher = RecordedFetcher()
        let reply = await Self.answer(fetcher, example.operation, Array(example.body.utf8))
        let json = try JSON.parse(reply.body)
        #expect(json["__type"] == .string(example.type))
        #expect(json["message"]?.stringValue?.isEmpty == false)
        let name = try #require(HTTPField.Name("x-amzn-errortype"))
        #expect(reply.headers[name] == "\(example.type):")
        #expect((400..<500).contains(reply.status.code))
        #expect(await fetcher.requests.isEmpty)
        #expect(!reply.wasAsked)
    }

    @Test("A call without an operation is not carried out")
    func noOperation() async {
        let reply = await Self.answer(RecordedFetcher(), nil, [])
        #expect(reply.status == .forbidden)
    }

    // MARK: Answers

    @Test("Cognito's answer is passed on with its error's headers and nothing else")
    func headers() async throws {
        let body = Array(#"{"__type":"UsernameExistsException","message":"User already exists"}"#.utf8)
        let fetcher = RecordedFetcher(
            FetchResponse(
                status: 400,
                headers: [
                    ("x-amzn-errortype", "UsernameExistsException:"), ("x-amzn-requestid", "cognito-id"),
                    ("set-cookie", "a=b"), ("server", "x"), ("content-type", "text/html"),
                ], body: body))
        let input: JSONObject = ["ClientId": .string(Fixture.clientID), "Username": "a"]
        let reply = await Self.answer(fetcher, "SignUp", input.encoded())
        #expect(reply.status == .badRequest)
        #expect(reply.body == body)
        #expect(reply.wasAsked)
        let names = Set(reply.headers.map(\.name.canonicalName))
        #expect(names == ["content-type", "cache-control", "x-amzn-errortype", "x-amzn-requestid"])
        #expect(reply.headers[.contentType] == "application/x-amz-json-1.1")
        let sent = try #require(await fetcher.requests.first)
        #expect(sent.headers.map(\.name) == ["Content-Type", "X-Amz-Target"])
        #expect(sent.url == "https://cognito.test/")
    }

    @Test(
        "What is the gateway's own fault, or Cognito's, is never put to the caller as theirs",
        arguments: [
            Fixture.failure("NotAuthorizedException", "Unable to verify secret hash for client x"),
            Fixture.failure("ResourceNotFoundException", "User pool client x does not exist."),
            Fixture.failure("ForbiddenException", "WAF"),
            FetchResponse(status: 500, body: Array("<html>".utf8)),
            FetchResponse(status: 200, body: Array("<html>".utf8)),
            FetchResponse(status: 302),
            FetchResponse(status: 400, body: Array("{}".utf8)),
        ])
    func ownFaults(response: FetchResponse) async throws {
        let log = CapturedLog()
        let input: JSONObject = ["ClientId": .string(Fixture.clientID), "Username": .string(Fixture.email)]
        let reply = await Self.answer(RecordedFetcher(response), "ForgotPassword", input.encoded(), log: log)
        #expect(reply.status == .serviceUnavailable)
        #expect(reply.headers[.retryAfter] == "5")
        let text = String(decoding: reply.body, as: UTF8.self)
        #expect(text.contains("InternalErrorException"))
        #expect(!text.contains("secret") && !text.contains("WAF"))
        #expect(!log.lines.joined().contains(Fixture.email))
    }

    @Test("A refresh token that was used is one that does not count to an app which refreshes in the old way")
    func reuse() async throws {
        let body: JSONObject = [
            "AuthFlow": "REFRESH_TOKEN_AUTH", "ClientId": .string(Fixture.clientID),
            "AuthParameters": ["REFRESH_TOKEN": "r"],
        ]
        let reply = await Self.answer(
            RecordedFetcher(Fixture.failure("RefreshTokenReuseException", "reused")), "InitiateAuth", body.encoded())
        #expect(try JSON.parse(reply.body)["__type"] == "NotAuthorizedException")
        let other: JSONObject = ["RefreshToken": "r", "ClientId": .string(Fixture.clientID)]
        let newer = await Self.answer(
            RecordedFetcher(Fixture.failure("RefreshTokenReuseException", "reused")), "GetTokensFromRefreshToken",
            other.encoded())
        #expect(try JSON.parse(newer.body)["__type"] == "RefreshTokenReuseException")
    }
}

/// The entries of the revocation list.
final class Revoked: Sendable {
    struct NotStored: Error {}

    private let isFailing = Mutex(false)
    /// Whether no entry can be stored from now on.
    func fail(_ fails: Bool) { isFailing.withLock { $0 = fails } }

    private let list = Mutex<[Revocation]>([])
    var all: [Revocation] { list.withLock { $0 } }
    var targets: [Revocation.Target] { all.map(\.target) }
    func append(_ revocations: [Revocation]) throws {
        guard !isFailing.withLock({ $0 }) else { throw NotStored() }
        list.withLock { $0 += revocations }
    }

    private let users = Mutex<[String]>([])
    var forgotten: [String] { users.withLock { $0 } }
    func forget(_ user: String) { users.withLock { $0.append(user) } }
}

@Suite("Direct Cognito calls are watched as account calls are")
struct DirectCognitoObserverTests {
    static func signIn(_ flow: String = "USER_PASSWORD_AUTH") -> [UInt8] {
        let body: JSONObject = [
            "AuthFlow": .string(flow), "ClientId": .string(Fixture.clientID),
            "AuthParameters": ["USERNAME": .string(Fixture.email), "PASSWORD": "p"],
        ]
        return body.encoded()
    }

    @Test("They are shown before and after, with the account's name and who it is")
    func shown() async throws {
        let observer = RecordedCalls()
        let reply = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens()), "InitiateAuth", Self.signIn(), accountGuard: observer)
        #expect(reply.status == .ok)
        #expect(reply.subject == Fixture.username)
        let entries = observer.entries
        #expect(entries.map(\.call.operation) == [.login, .login])
        #expect(entries.map(\.call.name) == ["InitiateAuth", "InitiateAuth"])
        #expect(entries.map(\.call.account) == [Fixture.email, Fixture.email])
        #expect(entries.map { $0.outcome == nil } == [true, false])
        guard case .signedIn(let user) = entries.last?.outcome else { return #expect(Bool(false), "\(entries)") }
        #expect(user.id == Fixture.username)
    }

    @Test("Who is not admitted is told so in Cognito's way, and Cognito is not asked")
    func refused() async throws {
        let observer = RecordedCalls(admission: .retryLater(.tooManyRequests, after: 7, reason: .limit(.address)))
        let fetcher = RecordedFetcher()
        let reply = await DirectCognitoTests.answer(fetcher, "InitiateAuth", Self.signIn(), accountGuard: observer)
        #expect(reply.status == .badRequest)
        #expect(reply.headers[.retryAfter] == "7")
        #expect(try JSON.parse(reply.body)["__type"] == "TooManyRequestsException")
        #expect(await fetcher.requests.isEmpty)
        #expect(observer.entries.count == 2)
    }

    @Test("A success that must not count is told once and is no success")
    func refusedAfter() async throws {
        let observer = RecordedCalls(end: .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)))
        let reply = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens()), "InitiateAuth", Self.signIn(), accountGuard: observer)
        #expect(reply.status == .serviceUnavailable)
        #expect(!String(decoding: reply.body, as: UTF8.self).contains("Token"))
        #expect(observer.entries.count == 2)
    }

    @Test("A call with a verified access token counts with the account's own calls, whatever Cognito says to it")
    func claims() async throws {
        let observer = RecordedCalls()
        let body: JSONObject = ["AccessToken": .string(DirectCognitoTests.accessToken)]
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.failure("NotAuthorizedException", "Access Token has been revoked")), "GetUser",
            body.encoded(), accountGuard: observer)
        #expect(observer.entries.map(\.call.subject) == [Fixture.username, Fixture.username])
        #expect(observer.entries.map(\.call.account) == [nil, nil])
        let own = LimitedCall(AccountCall(Fixture.bearer(.me), poolID: Fixture.poolID))
        #expect(own.account != nil)
        #expect(observer.entries.map { LimitedCall($0.call).account } == [own.account, own.account])
        #expect(observer.entries.allSatisfy { $0.call.guess == nil })
    }

    static let unverified: [(Verdict, status: Int, message: String)] = [
        (.rejected(.badSignature), 400, "Invalid Access Token"), (.rejected(.unknownKey), 400, "Invalid Access Token"),
        (.rejected(.expired), 400, "Access Token has expired"),
        (
            .needsKeys(issuerIndex: 0, keyID: "key-1"), 503,
            "Sign-in is not available right now. Try again later."
        ),
    ]

    @Test(
        "An access token that is not verified counts against nobody, and does not reach Cognito",
        arguments: ["GetUser", "ChangePassword", "VerifyUserAttribute", "GlobalSignOut", "AssociateSoftwareToken"])
    func unverifiedTokens(operation: String) async throws {
        for (verdict, status, message) in Self.unverified {
            let (observer, fetcher) = (RecordedCalls(), RecordedFetcher())
            let body: JSONObject = [
                "AccessToken": .string(DirectCognitoTests.accessToken), "AttributeName": "email", "Code": "123456",
                "PreviousPassword": "guess", "ProposedPassword": "New-Horse-9",
            ]
            let reply = await DirectCognitoTests.answer(
                fetcher, operation, body.encoded(), accountGuard: observer, verify: { _ in verdict })
            #expect(reply.status.code == status)
            #expect(try JSON.parse(reply.body)["message"] == .string(message))
            #expect(await fetcher.requests.isEmpty)
            #expect(observer.entries.count == 2)
            for call in observer.entries.map(\.call) {
                #expect(call.subject == nil && call.guess == nil && LimitedCall(call).account == nil)
            }
        }
    }

    private static let change: JSONObject = [
        "AccessToken": .string(DirectCognitoTests.accessToken),
        "UserAttributes": [["Name": "phone_number", "Value": "+14255550123"]],
    ]

    @Test(
        "A change that fails at Cognito may be made, so that the attributes of its token's user are read anew",
        arguments: [
            .failure(.timedOut), .success(Fixture.failure("CodeDeliveryFailureException")),
            .success(Fixture.failure("NotAuthorizedException", "Access Token has been revoked")),
        ] as [Result<FetchResponse, FetchError>])
    func failedChange(answer: Result<FetchResponse, FetchError>) async throws {
        let changed = ContactChangeTests.ChangedUsers()
        let reply = await DirectCognitoTests.answer(
            RecordedFetcher([answer]), "UpdateUserAttributes", Self.change.encoded(),
            accountGuard: try changed.accountGuard())
        #expect(reply.status.code >= 400)
        #expect(reply.subject == Fixture.username)
        #expect(await changed.subjects == [Fixture.username])
    }

    @Test("A token that anyone can make up has nobody's attributes read anew")
    func madeUpChange() async throws {
        let changed = ContactChangeTests.ChangedUsers()
        let reply = await DirectCognitoTests.answer(
            RecordedFetcher(), "UpdateUserAttributes", Self.change.encoded(),
            accountGuard: try changed.accountGuard(), verify: { _ in .rejected(.badSignature) })
        #expect(reply.subject == nil)
        #expect(await changed.subjects == [])
    }

    @Test("A device that the pool tracks is the call's")
    func devices() async throws {
        let observer = RecordedCalls()
        var body: JSONObject = ["AuthFlow": "USER_PASSWORD_AUTH", "ClientId": .string(Fixture.clientID)]
        body["AuthParameters"] = ["USERNAME": .string(Fixture.email), "PASSWORD": "p", "DEVICE_KEY": "eu_1"]
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens()), "InitiateAuth", body.encoded(), accountGuard: observer)
        #expect(observer.entries.map(\.call.device?.deviceID) == ["eu_1", "eu_1"])
        let result: JSON = [
            "AuthenticationResult": [
                "AccessToken": .string(Fixture.accessToken), "ExpiresIn": 3600,
                "NewDeviceMetadata": ["DeviceKey": "eu_2", "DeviceGroupKey": "g"],
            ]
        ]
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(FetchResponse(status: 200, body: result.encoded())), "InitiateAuth", Self.signIn(),
            accountGuard: observer)
        #expect(observer.entries.last?.call.device?.deviceID == "eu_2")
    }

    @Test("A refresh is one, and no sign-in")
    func refresh() async {
        let observer = RecordedCalls()
        let body: JSONObject = ["RefreshToken": "r", "ClientId": .string(Fixture.clientID)]
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.tokens(refreshToken: nil)), "GetTokensFromRefreshToken", body.encoded(),
            accountGuard: observer)
        #expect(observer.entries.last?.call.subject == Fixture.username)
        guard case .succeeded = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }
}
