import Cryptography
import Encoding
import Foundation
import GRDB
import Store
import Testing

@testable import LocalPool

@Suite("Clock, keys, trouble on order, signatures, older databases")
struct ControlTests {
    static func request(_ method: String, _ path: String, _ body: String = "") -> LocalPoolRequest {
        LocalPoolRequest(
            method: method, target: path, headers: [.init(name: "Content-Type", value: "application/json")],
            body: Array(body.utf8))
    }

    static func signIn() -> LocalPoolRequest {
        RouterTests.post(
            RouterTests.prefix + "InitiateAuth",
            String(decoding: TestPool.signIn(TestPool.email).encoded(), as: UTF8.self))
    }

    @Test("The clock moves forward, for tokens too")
    func clock() async throws {
        let pool = try TestPool()
        let router = LocalPoolRouter(pool: pool.pool)
        let token = try await pool.signedIn().text("AccessToken")
        #expect(await router.answer(Self.request("POST", "/_local/clock", #"{"advance":3600}"#)).status == 200)
        #expect(pool.pool.clock() == pool.clock.now + 3600)
        #expect(try await pool.refusal("GetUser", ["AccessToken": .string(token)]) == .expiredAccessToken)
        #expect(await router.answer(Self.request("POST", "/_local/clock", #"{"advance":-1}"#)).status == 400)
    }

    @Test("Control is for clients on this machine, with a content type that no page sends unasked")
    func access() async throws {
        let router = LocalPoolRouter(pool: try TestPool().pool)
        var request = Self.request("POST", "/_local/clock", #"{"advance":1}"#)
        request.isFromLoopback = false
        #expect(await router.answer(request).status == 404)
        request.isFromLoopback = true
        request.headers = [.init(name: "Content-Type", value: "text/plain")]
        #expect(await router.answer(request).status == 400)
    }

    @Test("A rotation signs with two new keys, and keeps the old ones or not", arguments: [true, false])
    func rotation(keepingOld: Bool) async throws {
        let pool = try TestPool()
        let token = try await pool.signedIn().text("AccessToken")
        let router = LocalPoolRouter(pool: pool.pool)
        let body = #"{"keep_old":\#(keepingOld)}"#
        #expect(await router.answer(Self.request("POST", "/_local/keys/rotate", body)).status == 200)
        let keyIDs = try #require(pool.pool.keySet["keys"]?.arrayValue).compactMap { $0["kid"]?.stringValue }
        #expect(keyIDs.count == (keepingOld ? 4 : 2))
        #expect(Set(keyIDs).count == keyIDs.count)
        let new = try header(await pool.signedIn().text("AccessToken")).text("kid")
        #expect(new == keyIDs[0])
        let getUser: JSONObject = ["AccessToken": .string(token)]
        if keepingOld {
            _ = try await pool.pool.answer("GetUser", getUser)
        } else {
            #expect(try await pool.refusal("GetUser", getUser) == .invalidAccessToken)
        }
        let stored = try PoolKeys(store: pool.pool.store, random: { SecureRandom.bytes($0) })
        #expect(stored.access.keyID == new)
    }

    @Test("Trouble on order meets as many calls as it was ordered for, and is counted")
    func errors() async throws {
        let pool = try TestPool()
        let router = LocalPoolRouter(pool: pool.pool)
        let order = """
            [{"operation":"InitiateAuth","times":1,"error":"TooManyRequestsException"},
             {"operation":"InitiateAuth","times":1,"drop":"before"},
             {"operation":"*","times":1,"drop":"after"},{"operation":"*","times":1,"drop":"mid_answer"}]
            """
        #expect(await router.answer(Self.request("POST", "/_local/faults", order)).status == 200)
        let throttled = await router.answer(Self.signIn())
        #expect(throttled.status == 400)
        #expect(try JSON.parse(throttled.body)["__type"] == "TooManyRequestsException")
        #expect(await router.answer(Self.signIn()).delivery == .none)
        let lost = await router.answer(Self.signIn())
        #expect(lost.delivery == .none)
        #expect(lost.status == 200)
        #expect(await router.answer(Self.signIn()).delivery == .half)
        #expect(await router.answer(Self.signIn()).delivery == .whole)
        let calls = try JSON.parse(await router.answer(Self.request("GET", "/_local/calls")).body)
        #expect(calls["counts"]?["InitiateAuth"] == 4)
        #expect(calls["recent"]?.arrayValue?.first?["error"] == "TooManyRequestsException")
        for wrong in [
            #"{}"#, #"[{"operation":"x","colour":1}]"#, #"[{"times":1}]"#, #"[{"operation":"x","drop":"y"}]"#,
        ] {
            #expect(await router.answer(Self.request("POST", "/_local/faults", wrong)).status == 400, "\(wrong)")
        }
    }

    static let credentials = SignatureVersion4.Credentials(
        accessKeyID: "AKIDLOCAL", secretAccessKey: Secret("a-secret-access-key"))

    /// A signed AdminGetUser; `time` is the clock's.
    static func signed(
        by credentials: SignatureVersion4.Credentials = credentials, time: String = "20270115T080000Z",
        region: String = "us-east-1"
    ) -> LocalPoolRequest {
        let body = Array(AdministratorTests.user.encoded())
        let headers = [
            LocalPoolHeader(name: "Host", value: "pool.test"), LocalPoolHeader(name: "X-Amz-Date", value: time),
            LocalPoolHeader(name: "X-Amz-Target", value: RouterTests.prefix + "AdminGetUser"), RouterTests.contentType,
        ]
        let signature = SignatureVersion4(
            method: "POST", path: "/", headers: headers.map { .init(name: $0.name, value: $0.value) }, body: body,
            scope: .init(time: time, region: region, service: "cognito-idp"))
        let authorization = LocalPoolHeader(name: "Authorization", value: signature.authorization(credentials))
        return LocalPoolRequest(method: "POST", target: "/", headers: headers + [authorization], body: body)
    }

    @Test("An administrator's request is signed with the configured key, now, for this region")
    func signatures() async throws {
        let pool = try TestPool { $0.administrator = Self.credentials }
        let router = LocalPoolRouter(pool: pool.pool)
        // 1 800 000 000 is 2027-01-15 08:00:00 UTC.
        #expect(await router.answer(Self.signed()).status == 200)
        pool.pool.clock.advance(by: 100_000)
        #expect(await router.answer(Self.signed()).status == 200)
        var altered = Self.signed()
        altered.body.append(UInt8(ascii: " "))
        var unsigned = Self.signed()
        unsigned.headers.removeLast()
        let wrong = SignatureVersion4.Credentials(accessKeyID: "AKIDLOCAL", secretAccessKey: Secret("another"))
        let unknown = SignatureVersion4.Credentials(accessKeyID: "OTHER", secretAccessKey: Secret("another"))
        let cases: [(LocalPoolRequest, String)] = [
            (altered, "InvalidSignatureException"), (unsigned, "MissingAuthenticationTokenException"),
            (Self.signed(by: wrong), "InvalidSignatureException"),
            (Self.signed(by: unknown), "UnrecognizedClientException"),
            (Self.signed(time: "20270115T080501Z"), "InvalidSignatureException"),
            (Self.signed(region: "eu-central-1"), "InvalidSignatureException"),
        ]
        for (request, type) in cases {
            let response = await router.answer(request)
            #expect(response.status == 400)
            #expect(try JSON.parse(response.body)["__type"] == .string(type))
        }
        let closed = LocalPoolRouter(pool: try TestPool().pool)
        #expect(
            try JSON.parse(await closed.answer(Self.signed()).body)["__type"] == "UnrecognizedClientException")
    }

    @Test("A database of the first schema is brought up to date: users, keys and refresh tokens are still good")
    func migration() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "local-pool-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "pool.sqlite").path()
        let (refreshToken, key) = ("an-old-refresh-token", try RSASigningKey.generate(bits: 2048))
        let pem = try key.privateKeyPEM().exposeText()
        let old = try Store(path: path, migrations: [PoolSchema.migrations[0]])
        try old.writeBlocking { database in
            try database.execute(
                sql: """
                    INSERT INTO signing_keys VALUES ('access', 'a=', ?), ('id', 'i=', ?);
                    INSERT INTO users (sub, email, password_hash, is_confirmed, attributes, groups, created_at)
                        VALUES ('s', 'old@example.com', ?, 1, '{"name":"Old"}', '["g"]', 1);
                    INSERT INTO refresh_tokens (token_hash, origin_jti, sub, auth_time, expires_at)
                        VALUES (?, 'o', 's', 1, 9000000000);
                    """,
                arguments: [
                    pem, pem, try TestPool.quickHashing.make(Secret("old-password")),
                    RefreshTokenRecord.hash(of: refreshToken),
                ])
        }
        let pool = try TestPool { $0.databasePath = path }
        let keys = try PoolKeys(store: pool.pool.store, random: { SecureRandom.bytes($0) })
        #expect([keys.access.keyID, keys.id.keyID] == ["a=", "i="])
        let refreshed = try await pool.tokens("GetTokensFromRefreshToken", TestPool.getTokens(refreshToken))
        #expect(try claims(refreshed.text("AccessToken"))["client_id"] == .string(TestPool.clientID))
        let client = try SRPClient(random: SecureRandom.bytes(32))
        let before = try await SRPSignInTests.parameters(pool, "old@example.com", client)
        #expect(
            try await pool.refusal(
                "RespondToAuthChallenge", SRPSignInTests.proof(before, client, password: "old-password"))
                == .badCredentials)
        let tokens = try await pool.tokens("InitiateAuth", TestPool.signIn("old@example.com", password: "old-password"))
        #expect(try claims(tokens.text("IdToken"))["email_verified"] == true)
        let after = try await SRPSignInTests.parameters(pool, "old@example.com", client)
        let identity = SRPIdentity(poolID: "us-east-1_TEST", userID: "s")
        _ = try await pool.tokens(
            "RespondToAuthChallenge",
            SRPSignInTests.proof(after, client, password: "old-password", identity: identity))
    }
}
