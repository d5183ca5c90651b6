import Encoding
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("Bodies of account requests")
struct RequestBodyTests {
    @Test(
        "Every faulty field is named, and Cognito is not asked",
        arguments: [
            (#"{}"#, ["email": "is required", "password": "is required"]),
            (#"{"email":null,"password":"p"}"#, ["email": "is required"]),
            (#"{"email":1,"password":["p"]}"#, ["email": "must be a string", "password": "must be a string"]),
            (#"{"email":"","password":""}"#, ["email": "must not be empty", "password": "must not be empty"]),
            (#"{"email":"a b@c","password":"p"}"#, ["email": "must not contain spaces"]),
            (#"{"email":"a\u00a0b@c","password":"p"}"#, ["email": "must not contain spaces"]),
            (
                #"{"email":"a\u0000@c","password":"p\u0007"}"#,
                [
                    "email": "must not contain control characters", "password": "must not contain control characters",
                ]
            ),
            (#"{"email":"ad\u0430@c","password":"p"}"#, ["email": "must be ASCII"]),
            (#"{"email":"ada\uff20c","password":"p"}"#, ["email": "must be ASCII"]),
            (#"{"email":"ada\u200b@c","password":"p"}"#, ["email": "must be ASCII"]),
            (#"{"email":"a@c\r\nx","password":"p"}"#, ["email": "must not contain control characters"]),
            (
                #"{"email":"\#(String(repeating: "e", count: 129))","password":"p"}"#,
                ["email": "must be at most 128 characters"]
            ),
            (
                #"{"email":"a@c","password":"\#(String(repeating: "p", count: 257))"}"#,
                ["password": "must be at most 256 characters"]
            ),
            (#"{"email":"a@c","password":"p","remember_me":"yes"}"#, ["remember_me": "must be true or false"]),
            (#"{"email":"a@c","password":"p","remember_me":1}"#, ["remember_me": "must be true or false"]),
            (#"{"email":"a@c","password":"p","device_info":"ios"}"#, ["device_info": "must be an object"]),
            (
                #"{"email":"a@c","password":"p","device_info":{"device_id":"d","platform":"ios","model":[7]}}"#,
                ["device_info.model": "must be a string"]
            ),
            (
                #"{"email":7,"password":"p","device_info":{"device_id":"\#(String(repeating: "d", count: 257))","platform":"\u0000"}}"#,
                [
                    "email": "must be a string", "device_info.device_id": "must be at most 256 characters",
                    "device_info.platform": "must not contain control characters",
                ]
            ),
        ] as [(String, [String: String])])
    func loginFields(body: String, fields: [String: String]) async throws {
        let fetcher = RecordedFetcher()
        let answer = try await self.answer(.login, Array(body.utf8), fetcher)
        #expect(answer.status == .unprocessableContent)
        #expect(answer.json["error"]?.stringValue == "InvalidParameterException")
        #expect(answer.reason?.code == "invalid-fields")
        let named = try #require(answer.json["fields"]?.objectValue)
        #expect(named.count == fields.count)
        for (name, message) in fields { #expect(named[name]?.stringValue == message) }
        #expect(await fetcher.requests.isEmpty)
    }

    @Test(
        "A refresh without a usable token is 422",
        arguments: [
            (#"{}"#, "is required"), (#"{"refresh_token":7}"#, "must be a string"),
            (#"{"refresh_token":""}"#, "must not be empty"),
            (#"{"refresh_token":"\#(String(repeating: "v", count: 8193))"}"#, "must be at most 8192 characters"),
        ])
    func refreshFields(body: String, message: String) async throws {
        let answer = try await self.answer(.refresh, Array(body.utf8), RecordedFetcher())
        #expect(answer.status == .unprocessableContent)
        #expect(answer.json["fields"] == ["refresh_token": .string(message)])
    }

    @Test(
        "An optional text that is empty is 422, and Cognito is not asked",
        arguments: [
            (.confirm, #"{"email":"a@c","code":"123456","password":""}"#, "password"),
            (.refresh, #"{"refresh_token":"x","client_id":""}"#, "client_id"),
            (.refresh, #"{"refresh_token":"x","device_key":""}"#, "device_key"),
        ] as [(AccountOperation, String, String)])
    func emptyOptionalText(operation: AccountOperation, body: String, field: String) async throws {
        let fetcher = RecordedFetcher()
        let answer = try await self.answer(operation, Array(body.utf8), fetcher)
        #expect(answer.status == .unprocessableContent)
        #expect(answer.json["fields"]?.objectValue?[field] == "must not be empty")
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("An address for codes that is empty is a fault; one that is null leaves the authenticator's code")
    func emptySetUpAddress() {
        var empty = RequestFields(["code": "123456", "email": ""])
        _ = ChallengeAnswer(to: .setUp, &empty)
        #expect(empty.errors["email"] == "must not be empty")
        var missing = RequestFields(["code": "123456", "email": .null])
        guard case .setUpCode = ChallengeAnswer(to: .setUp, &missing) else {
            Issue.record("the code is not taken")
            return
        }
        #expect(missing.errors.isEmpty)
    }

    @Test("What is allowed at the limits, and unknown fields, pass")
    func limits() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens())
        let body: JSON = [
            "email": .string(String(repeating: "e", count: 126) + "@c"),
            "password": .string(String(repeating: "🔑", count: 255) + " "),
            "remember_me": nil, "device_info": nil, "later": ["version": 2],
        ]
        let answer = try await self.answer(.login, body.encoded(), fetcher)
        #expect(answer.status == .ok)
    }

    @Test(
        "What is not JSON is 400",
        arguments: [
            "", "{", "email=a&password=b", #"{"email":"a@c","email":"b@c","password":"p"}"#, "{}x", "\u{feff}{}",
            String(repeating: "[", count: 5000),
        ])
    func malformed(body: String) async throws {
        let answer = try await self.answer(.login, Array(body.utf8), RecordedFetcher())
        #expect(answer.status == .badRequest)
        #expect(answer.json["error"]?.stringValue == "BadRequestException")
        #expect(answer.headers[.cacheControl] == "no-store")
    }

    @Test("JSON that is no object is 422", arguments: ["[]", "null", "\"text\"", "7"])
    func noObject(body: String) async throws {
        let answer = try await self.answer(.login, Array(body.utf8), RecordedFetcher())
        #expect(answer.status == .unprocessableContent)
    }

    @Test("A body over 64 KiB is 413, one of 64 KiB is read")
    func size() async throws {
        let body = Array(#"{"email":"a@c","password":"p"}"#.utf8)
        let padding = [UInt8](repeating: 0x20, count: (64 << 10) - body.count)
        let fits = try await answer(.login, body + padding, RecordedFetcher(Fixture.tokens()))
        #expect(fits.status == .ok)
        let tooLong = try await answer(.login, body + padding + [0x20], RecordedFetcher())
        #expect(tooLong.status == .contentTooLarge)
    }

    @Test(
        "JSON by another name is refused, a missing name is not",
        arguments: [
            (nil, 200), ("application/json", 200), ("Application/JSON; charset=utf-8", 200),
            ("application/vnd.app+json", 200), ("text/plain", 400), ("application/x-www-form-urlencoded", 400),
            ("application/jsonp", 400), ("", 400),
        ] as [(String?, Int)])
    func contentType(contentType: String?, status: Int) async throws {
        var request = Fixture.login()
        request.contentType = contentType
        let answer = try await Fixture.accounts(RecordedFetcher(Fixture.tokens())).answer(request)
        #expect(answer.status.code == status)
    }

    @Test("The operations are at the paths of the API")
    func paths() {
        let listed = CognitoAccounts.operations.map { "\($0.method) \($0.path)" }
        let expected = [
            "POST login", "POST challenge", "POST refresh", "POST logout", "POST register", "POST confirm",
            "POST resend-code", "POST forgot-password", "POST reset-password", "POST change-password", "GET me",
            "PATCH me", "DELETE me", "GET me/export", "GET me/sessions", "DELETE me/sessions/*", "DELETE me/sessions",
            "POST me/email", "POST me/email/resend", "POST me/email/verify", "POST me/phone", "POST me/phone/resend",
            "POST me/phone/verify", "GET mfa", "PATCH mfa", "POST mfa/totp", "POST mfa/totp/verify", "DELETE mfa/totp",
            "GET oauth/authorize", "GET oauth/callback", "POST oauth/token", "GET oauth/logout",
            "POST me/passkeys/options", "POST me/passkeys", "GET me/passkeys", "DELETE me/passkeys/*",
        ]
        #expect(listed == expected)
    }

    private func answer(
        _ operation: AccountOperation, _ body: [UInt8], _ fetcher: RecordedFetcher
    ) async throws -> AccountAnswer {
        var request = Fixture.request(operation)
        request.body = body
        return try await Fixture.accounts(fetcher).answer(request)
    }
}
