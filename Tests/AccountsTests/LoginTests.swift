import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

@Suite("POST login")
struct LoginTests {
    @Test("Cognito is asked once, with the name as typed, its secret hash and nothing else")
    func wire() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens())
        _ = try await Fixture.accounts(fetcher).answer(Fixture.login())
        #expect(await fetcher.operations == ["InitiateAuth"])
        let parameters: JSON = [
            "USERNAME": .string(Fixture.email), "PASSWORD": .string(Fixture.password),
            "SECRET_HASH": .string(Fixture.emailHash),
        ]
        let expected: JSON = [
            "AuthFlow": "USER_PASSWORD_AUTH", "ClientId": .string(Fixture.clientID), "AuthParameters": parameters,
        ]
        #expect(await fetcher.bodies == [expected])
    }

    @Test("An app client without a secret sends no hash; the client's address is sent if that is configured")
    func optionalParts() async throws {
        var settings = Fixture.settings()
        settings.clientSecret = nil
        settings.propagateClientAddress = true
        let fetcher = RecordedFetcher(Fixture.tokens())
        _ = try await Fixture.accounts(fetcher, settings: settings).answer(Fixture.login())
        let body = try #require(await fetcher.bodies.first)
        #expect(body["AuthParameters"]?["SECRET_HASH"] == nil)
        #expect(body["UserContextData"] == ["IpAddress": "192.0.2.7"])
    }

    @Test("A success gives tokens and user as the API says")
    func success() async throws {
        let answer = try await Fixture.accounts(RecordedFetcher(Fixture.tokens())).answer(Fixture.login())
        #expect(answer.status == .ok)
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.contentType] == "application/json")
        #expect(answer.reason == nil)
        #expect(answer.subject == Fixture.username)
        var json = try #require(answer.json.objectValue)
        json["refresh_token"] = nil
        let user: JSON = [
            "id": .string(Fixture.username), "email": .string(Fixture.email), "email_verified": true,
            "name": nil, "username": .string(Fixture.username), "groups": ["beta"],
            "attributes": ["custom:plan": "gold", "phone_number_verified": true],
        ]
        let expected: JSONObject = [
            "user": user, "access_token": .string(Fixture.accessToken), "token_type": "Bearer", "expires_in": 3600,
            "scope": "aws.cognito.signin.user.admin",
        ]
        #expect(json == expected)
    }

    @Test("The ID token is given if that is configured")
    func idToken() async throws {
        var settings = Fixture.settings()
        settings.returnIDToken = true
        let accounts = try Fixture.accounts(RecordedFetcher(Fixture.tokens()), settings: settings)
        #expect(await accounts.answer(Fixture.login()).json["id_token"]?.stringValue == Fixture.idToken)
    }

    @Test(
        "The refresh token is sealed over the real user name and lives as long as was asked for",
        arguments: [([:], 30 * 86_400), (["remember_me": true], 30 * 86_400), (["remember_me": false], 86_400)]
            as [(JSONObject, Int64)])
    func sealed(more: JSONObject, life: Int64) async throws {
        var more = more
        more["device_info"] = ["device_id": "phone-7", "platform": "ios", "model": nil]
        let answer = try await Fixture.accounts(RecordedFetcher(Fixture.tokens())).answer(Fixture.login(more))
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.username == Fixture.username)
        #expect(sealed.clientID == Fixture.clientID)
        #expect(sealed.refreshToken.exposeText() == "provider-refresh-token")
        #expect(sealed.deviceID == "phone-7")
        #expect(sealed.family == [UInt8](repeating: 9, count: 16))
        #expect(sealed.issuedAt == Fixture.now)
        #expect(sealed.expiresAt == Fixture.now + life)
    }

    @Test("Not being remembered never makes a session longer than the configured one")
    func shortLifetime() async throws {
        var settings = Fixture.settings()
        settings.refreshLifetime = 3600
        let accounts = try Fixture.accounts(RecordedFetcher(Fixture.tokens()), settings: settings)
        let answer = await accounts.answer(Fixture.login(["remember_me": false]))
        let text = try #require(answer.json["refresh_token"]?.stringValue)
        let sealed = try SealedRefreshToken(opening: Secret(text), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.expiresAt == Fixture.now + 3600)
    }

    @Test("A password that is null is none: where users choose a factor, the app is asked for it")
    func nullPassword() async throws {
        var settings = Fixture.settings()
        settings.choice.factors = [.email, .password]
        let accounts = try Fixture.accounts(RecordedFetcher(), settings: settings)
        let choice = await accounts.answer(Fixture.login(["password": .null]))
        #expect(choice.status == .accepted && choice.json["challenge"] == "SELECT_CHALLENGE")
        #expect(choice.json["parameters"] == ["methods": ["EMAIL_OTP", "PASSWORD"]])
        let password = await accounts.answer(Fixture.login(["factor": "PASSWORD", "password": .null]))
        #expect(password.status == .accepted && password.json["challenge"] == "PASSWORD")
        let none = try Fixture.accounts(RecordedFetcher())
        #expect(await none.answer(Fixture.login(["password": .null])).status == .unprocessableContent)
    }

    @Test(
        "A sign-in whose code cannot be sent looks like one of a name that is not known",
        arguments: [
            ("CodeDeliveryFailureException", ""), ("InvalidSmsRoleAccessPolicyException", ""),
            ("UnexpectedLambdaException", "CustomEmailSender invocation failed."),
        ])
    func undeliveredCode(type: String, message: String) async throws {
        var settings = Fixture.settings()
        settings.choice.factors = [.email, .sms]
        func login(_ failure: FetchResponse) async throws -> AccountAnswer {
            try await Fixture.accounts(RecordedFetcher(failure), settings: settings)
                .answer(Fixture.login(["password": .null, "factor": "EMAIL_OTP"]))
        }
        let unknown = try await login(Fixture.failure("UserNotFoundException", "User does not exist."))
        let undelivered = try await login(Fixture.failure(type, message))
        #expect(undelivered.status == .accepted && unknown.status == .accepted)
        #expect(undelivered.json["challenge"] == unknown.json["challenge"])
        #expect(undelivered.json["parameters"] == unknown.json["parameters"])
        #expect(undelivered.headers == unknown.headers)
    }

    @Test("Attributes that a new user must give have the names that an answer gives them by")
    func requiredAttributes() async throws {
        let asked: JSON = ["requiredAttributes": #"["userAttributes.family_name","custom:plan"]"#]
        let output: JSON = [
            "ChallengeName": "NEW_PASSWORD_REQUIRED", "Session": "session-of-cognito", "ChallengeParameters": asked,
        ]
        let answer = try await Fixture.accounts(RecordedFetcher(Fixture.output(output))).answer(Fixture.login())
        #expect(answer.status == .accepted)
        #expect(answer.json["parameters"]?["required_attributes"] == ["family_name", "custom:plan"])
    }

    @Test("A challenge is 202 with what the client needs to answer it")
    func challenge() async throws {
        let asked: JSON = [
            "USER_ID_FOR_SRP": "internal", "CODE_DELIVERY_DESTINATION": "+*******1234",
            "CODE_DELIVERY_DELIVERY_MEDIUM": "SMS", "MFAS_CAN_CHOOSE": #"["SMS_MFA","SOFTWARE_TOKEN_MFA"]"#,
        ]
        let output: JSON = [
            "ChallengeName": "SELECT_MFA_TYPE", "Session": "session-of-cognito", "ChallengeParameters": asked,
        ]
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: output.encoded()))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.login())
        #expect(answer.status == .accepted)
        let parameters: JSON = [
            "destination": "+*******1234", "delivery_medium": "SMS", "methods": ["SMS_MFA", "SOFTWARE_TOKEN_MFA"],
        ]
        var json = try #require(answer.json.objectValue)
        let session = try #require(json["session"]?.stringValue)
        json["session"] = nil
        #expect(json == ["challenge": "SELECT_MFA_TYPE", "parameters": parameters])
        let sealed = try SealedChallenge(opening: Secret(session), with: Fixture.ring(), poolID: Fixture.poolID)
        #expect(sealed.session == "session-of-cognito")
        #expect(sealed.username == "internal", "what Cognito calls the user, not what was typed")
        #expect(sealed.account == Fixture.email)
    }

    @Test(
        "Each failure of Cognito's has its own answer",
        arguments: [
            Row("NotAuthorizedException", "Incorrect username or password.", 401, "NotAuthorizedException"),
            Row("UserNotFoundException", "User does not exist.", 401, "NotAuthorizedException"),
            Row("NotAuthorizedException", "User is disabled.", 401, "NotAuthorizedException"),
            Row("UserLambdaValidationException", "PreAuthentication failed", 403, "UserLambdaValidationException"),
            Row("UserNotConfirmedException", "", 403, "UserNotConfirmedException"),
            Row("PasswordResetRequiredException", "", 403, "PasswordResetRequiredException"),
            Row("NotAuthorizedException", "Password attempts exceeded", 401, "NotAuthorizedException"),
            Row("NotAuthorizedException", "Temporary password has expired and must …", 401, "NotAuthorizedException"),
            Row("TooManyRequestsException", "Rate exceeded", 429, "TooManyRequestsException"),
            Row("LimitExceededException", "", 429, "TooManyRequestsException"),
            Row("InternalErrorException", "", 503, "IdentityProviderUnavailableException"),
            Row("ForbiddenException", "WAF", 503, "IdentityProviderUnavailableException"),
            Row("NewException", "", 503, "IdentityProviderUnavailableException"),
            Row("NotAuthorizedException", "SecretHash does not match", 503, "IdentityProviderUnavailableException"),
            Row("ResourceNotFoundException", "no client", 503, "IdentityProviderUnavailableException"),
            Row(
                "InvalidParameterException", "USER_PASSWORD_AUTH flow not enabled for this client", 503,
                "IdentityProviderUnavailableException"),
        ])
    func failures(row: Row) async throws {
        let fetcher = RecordedFetcher(Fixture.failure(row.type, row.message))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.login())
        #expect(answer.status.code == row.status)
        #expect(answer.json["error"]?.stringValue == row.error)
        #expect(answer.json["statusCode"]?.integerValue == Int64(row.status))
        #expect(answer.json["requestId"]?.stringValue == "request-1")
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect((answer.headers[.wwwAuthenticate] != nil) == (row.status == 401))
        #expect((answer.headers[.retryAfter] != nil) == (row.status == 429 || row.status == 503))
        #expect(answer.reason != nil)
        if !row.message.isEmpty { #expect(!answer.text.contains(row.message), "Cognito's words stay inside") }
        if row.status == 401 {
            #expect(answer.json["message"]?.stringValue == "Incorrect email or password.")
        }
    }

    @Test("An unknown user and a wrong password get the very same answer, after the very same calls")
    func noEnumeration() async throws {
        let unknown = RecordedFetcher(Fixture.failure("UserNotFoundException", "User does not exist."))
        let wrong = RecordedFetcher(Fixture.failure("NotAuthorizedException", "Incorrect username or password."))
        let first = try await Fixture.accounts(unknown).answer(Fixture.login())
        let second = try await Fixture.accounts(wrong).answer(Fixture.login())
        #expect(first.status == second.status)
        #expect(first.headers == second.headers)
        #expect(first.body == second.body)
        #expect(await unknown.bodies == wrong.bodies)
    }

    @Test(
        "The gateway's own misconfiguration is an error in the log that names the setting, but no secret",
        arguments: [
            ("NotAuthorizedException", "SecretHash does not match: \(Fixture.emailHash)", "client_secret"),
            ("ResourceNotFoundException", "User pool client \(Fixture.clientID) does not exist.", "client_id"),
            ("InvalidParameterException", "USER_PASSWORD_AUTH flow not enabled for this client", "flows"),
        ])
    func misconfiguration(type: String, message: String, setting: String) async throws {
        let log = CapturedLog()
        let fetcher = RecordedFetcher(Fixture.failure(type, message))
        _ = try await Fixture.accounts(fetcher, log: log).answer(Fixture.login())
        let line = try #require(log.lines.first)
        #expect(log.lines.count == 1)
        #expect(line.hasPrefix("error "))
        #expect(line.contains(setting))
        for secret in [Fixture.clientSecret, Fixture.emailHash, Fixture.password, Fixture.email] {
            #expect(!line.contains(secret))
        }
    }

    @Test("Cognito out of reach is 503 with Retry-After, and a warning")
    func unreachable() async throws {
        let log = CapturedLog()
        let answer = try await Fixture.accounts(RecordedFetcher([.failure(.timedOut)]), log: log)
            .answer(Fixture.login())
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.headers[.retryAfter] == "5")
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.hasPrefix("warning ") == true)
    }

    @Test(
        "An answer that makes no sense is 503, not a sign-in",
        arguments: [
            "{}", #"{"AuthenticationResult":{}}"#, #"{"ChallengeName":"SMS_MFA"}"#,
            #"{"AuthenticationResult":{"AccessToken":"a.b.c","ExpiresIn":3600,"RefreshToken":"r"}}"#,
        ])
    func nonsense(output: String) async throws {
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: Array(output.utf8)))
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.login())
        #expect(answer.status == .serviceUnavailable)
    }

    @Test("A challenge that no app can answer is 403, and the log names it")
    func unsupportedChallenge() async throws {
        let log = CapturedLog()
        let output = #"{"ChallengeName":"PASSWORD_VERIFIER","Session":"s"}"#
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: Array(output.utf8)))
        let answer = try await Fixture.accounts(fetcher, log: log).answer(Fixture.login())
        #expect(answer.status == .forbidden)
        #expect(log.lines.contains { $0.contains("PASSWORD_VERIFIER") })
    }

    @Test("Nothing secret is in the log or in what printing shows")
    func printing() async throws {
        let log = CapturedLog()
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.failure("NewException", Fixture.password))
        let accounts = try Fixture.accounts(fetcher, log: log)
        let request = Fixture.login()
        let answer = await accounts.answer(request)
        _ = await accounts.answer(request)
        var printed = log.lines.joined() + "\(request) \(answer)" + String(reflecting: request)
        dump(request, to: &printed)
        dump(answer, to: &printed)
        var call = AccountCall(request, poolID: Fixture.poolID)
        dump(try LoginEndpoint(request, accounts, &call), to: &printed)
        dump(call, to: &printed)
        dump(accounts, to: &printed)
        let sealed = try #require(answer.json["refresh_token"]?.stringValue)
        for secret in [Fixture.password, Fixture.clientSecret, Fixture.accessToken, sealed] {
            #expect(!printed.contains(secret))
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var type: String
        var message: String
        var status: Int
        var error: String

        init(_ type: String, _ message: String, _ status: Int, _ error: String) {
            self.type = type
            self.message = message
            self.status = status
            self.error = error
        }

        var testDescription: String { "\(type) \(message)" }
    }
}
