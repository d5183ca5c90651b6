import Cryptography
import Encoding
import Foundation
import SettingsReader
import Testing

@testable import LocalPool

@Suite("What a user does at Apple, and the trouble on order")
struct AppleEventTests {
    static func event(_ type: String, _ more: JSONObject = [:]) -> JSONObject {
        let event: JSONObject = [
            "type": .string(type), "user": .string(TestApple.ada), "client_id": .string(TestApple.clientID),
        ]
        return event.changed(by: more)
    }

    static func notice(_ apple: TestApple, _ body: JSONObject) async throws -> (claims: JSONObject, event: JSONObject) {
        let payload = try #require(try await apple.control("events", body)["payload"]?.stringValue)
        let claims = try claims(payload)
        let event = try JSON.parse(Array(claims.text("events").utf8))
        return (claims, try #require(event.objectValue))
    }

    @Test("Withdrawing consent ends the tokens, and is told in a signed notification whose events are JSON text")
    func consent() async throws {
        let apple = try TestApple()
        let (_, tokens) = try await apple.exchange(apple.signIn()["authorization_code"])
        let (claims, event) = try await Self.notice(apple, Self.event("consent-revoked"))
        #expect(claims["iss"] == "https://appleid.apple.com")
        #expect(claims["aud"] == "com.example.app")
        #expect(claims["jti"]?.stringValue?.isEmpty == false)
        #expect(
            event == [
                "type": "consent-revoked", "sub": "000123.0123456789abcdef.0001",
                "event_time": .number(JSONNumber(apple.now * 1000)),
            ])
        #expect(try await apple.refresh(tokens["refresh_token"]).body["error"] == "invalid_grant")
    }

    @Test("A deleted account is another one when it comes again", arguments: ["account-delete", "account-deleted"])
    func deletion(type: String) async throws {
        let apple = try TestApple()
        let before = try await apple.signIn("new@example.com")
        let (_, tokens) = try await apple.exchange(before["authorization_code"])
        _ = try await apple.control("events", Self.event(type, ["user": "new@example.com"]))
        #expect(try await apple.refresh(tokens["refresh_token"]).body["error"] == "invalid_grant")
        #expect(try await apple.signIn("new@example.com")["user"] != before["user"])
    }

    @Test("Forwarding that stops or starts is told with the address", arguments: ["email-disabled", "email-enabled"])
    func forwarding(type: String) async throws {
        let apple = try TestApple()
        let email = try await apple.signIn(TestApple.ada, ["hide_email": true])["email"]
        let event = try await Self.notice(apple, Self.event(type)).event
        #expect(event["email"] == email)
        #expect(event["is_private_email"] == "true")
    }

    @Test("Notifications of any other kind can be ordered too")
    func others() async throws {
        let apple = try TestApple()
        let order = Self.event("something-new", ["event": ["sub": "nobody"], "claims": ["exp": nil, "jti": "again"]])
        let (claims, event) = try await Self.notice(apple, order)
        #expect(event["type"] == "something-new")
        #expect(event["sub"] == "nobody")
        #expect(claims["exp"] == nil)
        #expect(claims["jti"] == "again")
        let asObject = try await apple.control("events", Self.event("x", ["as_object": true]))
        #expect(try LocalPoolTests.claims(#require(asObject["payload"]?.stringValue))["events"]?["type"] == "x")
    }

    @Test("The settings of the phone list the apps and what they hold")
    func settings() async throws {
        let apple = try TestApple()
        _ = try await apple.exchange(apple.signIn()["authorization_code"])
        let request = ControlTests.request("GET", "/_local/apple/account?user=ADA%40icloud.example")
        #expect(
            try JSON.parse(await apple.router.answer(request).body) == [
                "user": "000123.0123456789abcdef.0001", "email": "ada@icloud.example",
                "clients": [["client_id": "com.example.app", "refresh_tokens": 1]],
            ])
    }

    static let wrongOrders: [(String, JSONObject)] = [
        ("sign-in", [:]), ("sign-in", ["user": "ada@icloud.example", "client_id": "com.other"]),
        ("sign-in", ["user": "no-address", "client_id": "com.example.app"]),
        ("sign-in", ["user": "ada@icloud.example", "client_id": "com.example.app", "nonce": 1]),
        ("sign-in", ["user": "ada@icloud.example", "client_id": "com.example.app", "colour": "red"]),
        ("events", event("x", ["user": "nobody@example.com"])), ("events", event("x", ["client_id": "com.other"])),
        ("events", event("x", ["send": true])), ("events", event("")),
    ]

    @Test("A wrong order is refused and says why", arguments: wrongOrders.indices)
    func wrongOrder(index: Int) async throws {
        let (path, body) = Self.wrongOrders[index]
        let answer = try await TestApple().control(path, body)
        #expect(answer["__type"] == "InvalidParameterException")
        #expect(answer["message"]?.stringValue?.isEmpty == false)
    }

    @Test("Trouble on order comes in Apple's shape, and calls are counted")
    func errors() async throws {
        let apple = try TestApple()
        let order = """
            [{"operation":"AppleToken","times":1,"error":"server_error","status":503},
             {"operation":"AppleKeys","times":1,"drop":"before"}]
            """
        _ = await apple.router.answer(ControlTests.request("POST", "/_local/faults", order))
        let code = try await apple.signIn()["authorization_code"]
        let (status, body) = try await apple.exchange(code)
        #expect(status == 503)
        #expect(body["error"] == "server_error")
        #expect(await apple.router.answer(RouterTests.get("/auth/keys")).delivery == .none)
        #expect(try await apple.exchange(code).0 == 200)
        #expect(try await apple.exchange(code).0 == 400)
        let calls = try JSON.parse(await apple.router.answer(ControlTests.request("GET", "/_local/calls")).body)
        #expect(calls["counts"]?["AppleToken"] == 3)
        #expect(calls["recent"]?.arrayValue?.last?["error"] == "invalid_grant")
    }
}

@Suite("The section apple of the configuration file")
struct AppleConfigurationTests {
    /// By `openssl pkcs8 -topk8` and `openssl ec -pubout`.
    static let privateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg21LKZxWZfeG/4Sis
        9fhd5Dg3rKxgXQPU7VjQUKb2cvihRANCAAROGjd7n6lF4Jf9uykK/8EIt6mOAgea
        vX9p5gQWq753KZ51wvHB64RXqgvZOlrefzCFuobOcdj+Y9pdm4iVOP4Z
        -----END PRIVATE KEY-----
        """
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETho3e5+pReCX/bspCv/BCLepjgIH
        mr1/aeYEFqu+dymedcLxweuEV6oL2Tpa3n8whbqGznHY/mPaXZuIlTj+GQ==
        -----END PUBLIC KEY-----
        """

    @Test("Every key is taken; a private key stands for its public half")
    func everyKey() throws {
        let indented = { (pem: String) in pem.replacing("\n", with: "\n      ") }
        let apple = try #require(
            ConfigurationTests.parse(
                ConfigurationTests.minimal + """

                    apple:
                      issuer: http://apple.test
                      team_id: TEAM
                      client_ids: [com.a, com.b]
                      keys:
                      - id: one
                        key: |
                          \(indented(Self.privateKey))
                      - id: two
                        key: |
                          \(indented(Self.publicKey))
                      notification_url: http://127.0.0.1:8080/notifications
                      booleans_as_text: true
                      lifetimes: {identity_token: 1, code: 2, access_token: 3}
                      accounts:
                      - {email: a@b.c, email_verified: false, sub: s, given_name: A, family_name: B, hide_email: true, real_user_status: 1}
                    """
            ).apple)
        #expect(apple.issuer == "http://apple.test")
        #expect(apple.teamID == "TEAM")
        #expect(apple.clientIDs == ["com.a", "com.b"])
        #expect(apple.keys.map(\.id) == ["one", "two"])
        #expect(apple.keys[0].key.isSameKey(as: apple.keys[1].key))
        #expect(apple.notificationURL == PlainURL("http://127.0.0.1:8080/notifications"))
        #expect(apple.writesBooleansAsText)
        #expect([apple.lifetimes.identityToken, apple.lifetimes.code, apple.lifetimes.accessToken] == [1, 2, 3])
        let account = try #require(apple.accounts.first)
        #expect(account.email == "a@b.c" && account.sub == "s" && account.givenName == "A" && account.familyName == "B")
        #expect(!account.isEmailVerified && account.hidesEmail && account.realUserStatus == 1)
    }

    static let errors: [(String, String)] = [
        ("apple: {client_ids: [a]}", "apple.team_id: is missing"),
        ("apple: {team_id: T}", "apple.client_ids: is missing"),
        (
            "apple: {team_id: T, client_ids: [a], isuer: x}",
            "apple.isuer: unknown key (did you mean \"issuer\"?)"
        ),
        (
            "apple: {team_id: T, client_ids: [a], keys: [{id: k, key: none}]}",
            "apple.keys[0].key: must be a P-256 key in PEM, public or private"
        ),
        (
            "apple: {team_id: T, client_ids: [a], notification_url: \"https://x\"}",
            "apple.notification_url: must be an http URL (got \"https://x\")"
        ),
        (
            "apple: {team_id: T, client_ids: [a], accounts: [{email: a@b.c}, {email: A@b.c}]}",
            "apple.accounts[1].email: is there twice"
        ),
    ]

    @Test("A fault is reported with its line and key", arguments: errors)
    func error(text: String, expected: String) throws {
        let error = try #require(throws: SettingsErrors.self) {
            try ConfigurationTests.parse(ConfigurationTests.minimal + "\n" + text)
        }
        #expect(error.description == "f.yaml:4: " + expected)
    }
}
