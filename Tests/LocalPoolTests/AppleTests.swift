import Cryptography
import Encoding
import Store
import Testing

@testable import LocalPool

/// A local Apple in memory beside a pool, and the requests of a right client.
struct TestApple {
    static let clientID = "com.example.app"
    static let sibling = "com.example.pro"
    static let ada = "ada@icloud.example"
    static let teamKey = Result { try P256SigningKey.generate() }

    let router: LocalPoolRouter
    let pool: TestPool

    init(_ change: (inout LocalPoolConfiguration.Apple) -> Void = { _ in }) throws {
        pool = try TestPool()
        var configuration = LocalPoolConfiguration.Apple(
            teamID: "TEAM000001", clientIDs: [Self.clientID, Self.sibling])
        configuration.keys = [.init(id: "KEY0000001", key: try Self.teamKey.get().verificationKey())]
        var account = LocalPoolConfiguration.Apple.Account(email: Self.ada)
        account.givenName = "Ada"
        account.sub = "000123.0123456789abcdef.0001"
        configuration.accounts = [account]
        change(&configuration)
        let store = pool.pool.store
        let apple = try LocalApple(
            configuration: configuration, store: store,
            keys: AppleKeys(current: Self.sharedKeys.get(), store: store, random: { SecureRandom.bytes($0) }),
            logger: pool.pool.logger, clock: pool.pool.clock, random: { SecureRandom.bytes($0) })
        router = LocalPoolRouter(pool: pool.pool, apple: apple)
    }

    private static let sharedKeys = Result { try AppleKeys.make { SecureRandom.bytes($0) } }

    var now: Int64 { pool.pool.clock() }

    func control(_ path: String, _ body: JSONObject) async throws -> JSON {
        let text = String(decoding: body.encoded(), as: UTF8.self)
        let answer = await router.answer(ControlTests.request("POST", "/_local/apple/\(path)", text))
        return try JSON.parse(answer.body)
    }

    /// The phone's result for the app.
    func signIn(_ user: String = ada, _ more: JSONObject = [:]) async throws -> JSONObject {
        let body: JSONObject = ["user": .string(user), "client_id": .string(Self.clientID)]
        return try #require(try await control("sign-in", body.changed(by: more)).objectValue)
    }

    /// A client secret; `changes` are laid over its claims.
    func secret(
        _ changes: JSONObject = [:], header: JSONObject = ["alg": "ES256", "kid": "KEY0000001"]
    ) throws -> String {
        let claims: JSONObject = [
            "iss": "TEAM000001", "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
            "aud": "https://appleid.apple.com", "sub": .string(Self.clientID),
        ]
        let input = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.changed(by: changes).encoded())
        return input + "." + Base64URL.encode(try Self.teamKey.get().sign(Array(input.utf8)))
    }

    /// The answer to a form with the client's id and secret and these fields.
    func post(
        _ path: String, _ fields: [String: String], secret: String? = nil, clientID: String = clientID
    ) async throws -> (status: Int, body: JSON) {
        let fields = try [
            "client_id": clientID, "client_secret": secret ?? self.secret(["sub": .string(clientID)]),
        ].merging(fields) { $1 }
        let form = fields.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        let answer = await router.answer(
            LocalPoolRequest(
                method: "POST", target: path,
                headers: [.init(name: "Content-Type", value: "application/x-www-form-urlencoded; charset=utf-8")],
                body: Array(form.utf8)))
        return (answer.status, answer.body.isEmpty ? .null : try JSON.parse(answer.body))
    }

    func exchange(_ code: JSON?, secret: String? = nil, clientID: String = clientID) async throws -> (Int, JSON) {
        try await post(
            "/auth/token", ["grant_type": "authorization_code", "code": try #require(code?.stringValue)],
            secret: secret, clientID: clientID)
    }

    func refresh(_ token: JSON?, clientID: String = clientID) async throws -> (status: Int, body: JSON) {
        try await post(
            "/auth/token", ["grant_type": "refresh_token", "refresh_token": try #require(token?.stringValue)],
            clientID: clientID)
    }

    func keyIDs() async throws -> [String] {
        let answer = await router.answer(RouterTests.get("/auth/keys"))
        return try #require(try JSON.parse(answer.body)["keys"]?.arrayValue).compactMap { $0["kid"]?.stringValue }
    }
}

@Suite("The local Apple")
struct AppleTests {
    @Test("An identity token says what Apple's do, with the nonce as it was given and half the code's hash")
    func identityToken() async throws {
        let apple = try TestApple()
        let answer = try await apple.signIn(TestApple.ada, ["nonce": "Nonce As Given="])
        let token = try answer.text("identity_token")
        let claims = try claims(token)
        let code = try answer.text("authorization_code")
        #expect(
            claims == [
                "iss": "https://appleid.apple.com", "aud": "com.example.app",
                "exp": .number(JSONNumber(apple.now + 86_400)), "iat": .number(JSONNumber(apple.now)),
                "sub": "000123.0123456789abcdef.0001", "nonce": "Nonce As Given=",
                "c_hash": .string(Base64URL.encode(Array(SHA256.hash(Array(code.utf8)).prefix(16)))),
                "email": "ada@icloud.example", "email_verified": true, "auth_time": .number(JSONNumber(apple.now)),
                "nonce_supported": true, "real_user_status": 2,
            ])
        #expect(try header(token)["alg"] == "RS256")
        #expect(answer["email"] == "ada@icloud.example")
        #expect(answer["full_name"]?["given_name"] == "Ada")
        let again = try await apple.signIn()
        #expect(again["email"] == nil && again["full_name"] == nil)
        #expect(try LocalPoolTests.claims(again.text("identity_token"))["nonce"] == nil)
    }

    @Test("Of three published keys the phone uses one and the servers another; a rotation brings three new ones")
    func keys() async throws {
        let apple = try TestApple()
        let before = try await apple.keyIDs()
        let answer = try await apple.signIn()
        let (_, tokens) = try await apple.exchange(answer["authorization_code"])
        #expect(Set(before).count == 3)
        #expect(try header(answer.text("identity_token")).text("kid") == before[1])
        #expect(try header(#require(tokens["id_token"]?.stringValue)).text("kid") == before[2])
        _ = try await apple.control("keys/rotate", ["keep_old": true])
        let kept = try await apple.keyIDs()
        #expect(kept.count == 6 && Array(kept[3...]) == before)
        #expect(try header(await apple.signIn().text("identity_token")).text("kid") == kept[1])
        _ = try await apple.control("keys/rotate", ["keep_old": false])
        #expect(try await apple.keyIDs().filter(kept.contains) == [])
    }

    @Test("Keys, accounts and tokens are kept: a second Apple on the same store has the same")
    func persistence() throws {
        let store = try Store(path: ":memory:", migrations: PoolSchema.migrations)
        let first = try AppleKeys(store: store, random: { SecureRandom.bytes($0) })
        let second = try AppleKeys(store: store, random: { SecureRandom.bytes($0) })
        #expect(first.keySet == second.keySet)
    }

    @Test("The user's id is the same in the team's apps; another user has another")
    func subject() async throws {
        let apple = try TestApple()
        let own = try await apple.signIn("new@example.com")
        let sibling = try await apple.signIn("new@example.com", ["client_id": .string(TestApple.sibling)])
        let other = try await apple.signIn("other@example.com")
        #expect(own["user"] == sibling["user"])
        #expect(own["user"] != other["user"])
        #expect(try claims(sibling.text("identity_token"))["aud"] == "com.example.pro")
    }

    @Test("A user may hide the address: apps get a private one, which is the same ever after")
    func relay() async throws {
        let apple = try TestApple { $0.writesBooleansAsText = true }
        let first = try await apple.signIn(TestApple.ada, ["hide_email": true])
        let later = try await apple.signIn()
        let claims = try claims(later.text("identity_token"))
        #expect(claims["email"] == first["email"])
        #expect(try claims.text("email").hasSuffix("@privaterelay.appleid.com"))
        #expect(claims["is_private_email"] == "true")
        #expect(claims["email_verified"] == "true")
    }

    @Test("Claims can be laid over a token that is signed all the same")
    func changes() async throws {
        let token = try await TestApple().signIn(TestApple.ada, ["claims": ["aud": "other", "email": nil]])
        let claims = try claims(token.text("identity_token"))
        #expect(claims["aud"] == "other")
        #expect(claims["email"] == nil)
    }

    @Test("A code gives tokens once, for five minutes, to its own client")
    func codes() async throws {
        let apple = try TestApple()
        let code = try await apple.signIn()["authorization_code"]
        let other = try await apple.exchange(code, clientID: TestApple.sibling)
        #expect(other.0 == 400)
        #expect(other.1["error"] == "invalid_grant")
        let (status, tokens) = try await apple.exchange(code)
        #expect(status == 200)
        #expect(tokens["token_type"] == "Bearer")
        #expect(tokens["expires_in"] == 3600)
        let claims = try claims(#require(tokens["id_token"]?.stringValue))
        let access = try #require(tokens["access_token"]?.stringValue)
        #expect(claims["at_hash"]?.stringValue == Base64URL.encode(Array(SHA256.hash(Array(access.utf8)).prefix(16))))
        #expect(claims["c_hash"] == nil)
        #expect(try await apple.exchange(code).1["error"] == "invalid_grant")
        let late = try await apple.signIn()["authorization_code"]
        apple.pool.clock.advance(300)
        #expect(try await apple.exchange(late).1["error"] == "invalid_grant")
    }

    @Test("A refresh token lasts, gives no other, and is its client's only")
    func refreshTokens() async throws {
        let apple = try TestApple()
        let (_, tokens) = try await apple.exchange(apple.signIn()["authorization_code"])
        apple.pool.clock.advance(90 * 86_400)
        let (status, refreshed) = try await apple.refresh(tokens["refresh_token"])
        #expect(status == 200)
        #expect(refreshed["refresh_token"] == nil)
        #expect(try claims(#require(refreshed["id_token"]?.stringValue))["iat"] == .number(JSONNumber(apple.now)))
        #expect(try await apple.refresh(tokens["refresh_token"], clientID: TestApple.sibling).status == 400)
        #expect(try await apple.refresh(tokens["access_token"]).body["error"] == "invalid_grant")
    }

    @Test(
        "Revoking ends the user's tokens for the client; an unknown token is no error",
        arguments: ["refresh", "access"])
    func revoking(kind: String) async throws {
        let apple = try TestApple()
        let (_, tokens) = try await apple.exchange(apple.signIn()["authorization_code"])
        let token = try #require(tokens["\(kind)_token"]?.stringValue)
        #expect(try await apple.post("/auth/revoke", ["token": "unknown"]).status == 200)
        #expect(try await apple.post("/auth/revoke", ["token": token], clientID: TestApple.sibling).status == 200)
        #expect(try await apple.refresh(tokens["refresh_token"]).status == 200)
        #expect(try await apple.post("/auth/revoke", ["token": token]).status == 200)
        #expect(try await apple.refresh(tokens["refresh_token"]).body["error"] == "invalid_grant")
        #expect(try await apple.signIn()["full_name"] != nil, "the next sign-in is as the first")
    }

    static let wrongSecrets: [(String, JSONObject, JSONObject)] = [
        ("another team", ["iss": "TEAM000002"], [:]), ("another client", ["sub": "com.example.pro"], [:]),
        ("another audience", ["aud": "https://account.apple.com"], [:]), ("no end", ["exp": nil], [:]),
        ("expired", ["exp": 1_800_000_000], [:]), ("more than six months", ["exp": 1_815_777_001], [:]),
        ("from the future", ["iat": 1_800_000_061], [:]), ("no beginning", ["iat": nil], [:]),
        ("another key", [:], ["kid": "KEY0000002"]), ("another algorithm", [:], ["alg": "HS256"]),
    ]

    @Test("A client secret is checked in every part", arguments: wrongSecrets.indices)
    func clientSecret(index: Int) async throws {
        let (name, claims, header) = Self.wrongSecrets[index]
        let apple = try TestApple()
        let code = try await apple.signIn()["authorization_code"]
        let right: JSONObject = ["alg": "ES256", "kid": "KEY0000001"]
        let secret = try apple.secret(claims, header: right.changed(by: header))
        let (status, body) = try await apple.exchange(code, secret: secret)
        #expect(status == 400, "\(name)")
        #expect(body == ["error": "invalid_client"], "\(name)")
        #expect(try await apple.exchange(code, secret: apple.secret(["exp": 1_815_777_000])).0 == 200)
    }

    @Test("A secret with a changed signature, or none, is no secret")
    func signatures() async throws {
        let apple = try TestApple()
        let secret = try apple.secret()
        let altered = String(secret.dropLast(4)) + (secret.hasSuffix("AAAA") ? "BBBA" : "AAAA")
        for wrong in [altered, "x", "a.b.c", secret.split(separator: ".").dropLast().joined(separator: ".") + "."] {
            #expect(try await apple.exchange("c", secret: wrong).1["error"] == "invalid_client", "\(wrong)")
        }
    }

    @Test("What is no right form has an error of OAuth")
    func forms() async throws {
        let apple = try TestApple()
        #expect(try await apple.post("/auth/token", [:]).body["error"] == "invalid_request")
        #expect(try await apple.post("/auth/token", ["grant_type": "x"]).body["error"] == "unsupported_grant_type")
        #expect(try await apple.post("/auth/revoke", [:]).body["error"] == "invalid_request")
        #expect(try await apple.post("/auth/token", [:], clientID: "com.other").body["error"] == "invalid_client")
        let twice = ["grant_type": "authorization_code&code=a", "code": "b"]
        #expect(try await apple.post("/auth/token", twice).body["error"] == "invalid_request")
        // A sign is no digit of an escape (RFC 3986, 2.1).
        for malformed in ["%+A", "%-0", "%", "%4", "%zz", "%ff"] {
            let answer = try await apple.post("/auth/token", ["grant_type": "refresh_token\(malformed)"])
            #expect(answer.body["error"] == "invalid_request", "\(malformed)")
        }
        let json = await apple.router.answer(ControlTests.request("POST", "/auth/token", "{}"))
        #expect(try JSON.parse(json.body) == ["error": "invalid_request"])
        #expect(await apple.router.answer(RouterTests.get("/auth/authorize")).status == 404)
    }

    @Test("Without a section apple there is none")
    func absent() async throws {
        let router = LocalPoolRouter(pool: try TestPool().pool)
        #expect(await router.answer(RouterTests.get("/auth/keys")).status == 404)
        #expect(await router.answer(ControlTests.request("POST", "/_local/apple/sign-in", "{}")).status == 404)
    }
}
