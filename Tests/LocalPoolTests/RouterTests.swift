import Encoding
import Testing

@testable import LocalPool

@Suite("Requests and answers as HTTP")
struct RouterTests {
    static func post(_ target: String?, _ body: String) -> LocalPoolRequest {
        LocalPoolRequest(
            method: "POST", target: "/",
            headers: [contentType] + (target.map { [LocalPoolHeader(name: "X-Amz-Target", value: $0)] } ?? []),
            body: Array(body.utf8))
    }

    static let contentType = LocalPoolHeader(name: "Content-Type", value: "application/x-amz-json-1.1")

    static func get(_ target: String) -> LocalPoolRequest {
        LocalPoolRequest(method: "GET", target: target, body: [])
    }

    static let prefix = "AWSCognitoIdentityProviderService."

    static let refusals: [(LocalPoolRequest, Int, String)] = [
        (post(nil, "{}"), 400, "UnknownOperationException"),
        (post("DynamoDB_20120810.SignUp", "{}"), 400, "UnknownOperationException"),
        (post(prefix + "ListUserPools", "{}"), 400, "UnknownOperationException"),
        (post(prefix + "SignUp", "{"), 400, "SerializationException"),
        (post(prefix + "SignUp", ""), 400, "SerializationException"),
        (post(prefix + "SignUp", "[]"), 400, "SerializationException"),
        (post(prefix + "SignUp", #"{"Username":[]}"#), 400, "InvalidParameterException"),
        (get("/"), 404, "ResourceNotFoundException"),
        (get("/us-east-1_OTHER/.well-known/jwks.json"), 404, "ResourceNotFoundException"),
        (get("/_local/inbox"), 400, "InvalidParameterException"),
        (get("/_local/inbox?email=%ff"), 400, "InvalidParameterException"),
    ]

    @Test("A refusal has Cognito's shape", arguments: refusals.indices)
    func refusal(index: Int) async throws {
        let (request, status, type) = Self.refusals[index]
        let response = await LocalPoolRouter(pool: try TestPool().pool).answer(request)
        #expect(response.status == status)
        #expect(response.contentType == "application/x-amz-json-1.1")
        #expect(try JSON.parse(response.body)["__type"]?.stringValue == type)
        #expect(response.headers.first { $0.name == "x-amzn-errortype" }?.value == "\(type):")
        #expect(response.headers.contains { $0.name == "x-amzn-requestid" })
    }

    @Test("The refusal's message is in the body and, safe for a header, in the header")
    func message() async throws {
        let client = "ü\\r\\nx"
        let body = #"{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"\#(client)"}"#
        let response = await LocalPoolRouter(pool: try TestPool().pool).answer(
            Self.post(Self.prefix + "InitiateAuth", body))
        #expect(
            try JSON.parse(response.body)["message"]?.stringValue == "User pool client ü\r\nx does not exist.")
        #expect(
            response.headers.first { $0.name == "x-amzn-errormessage" }?.value
                == "User pool client ???x does not exist.")
    }

    @Test("An operation's answer is Cognito's JSON with a request id")
    func answer() async throws {
        let pool = try TestPool()
        let body = String(decoding: TestPool.signIn(TestPool.email).encoded(), as: UTF8.self)
        let response = await LocalPoolRouter(pool: pool.pool).answer(Self.post(Self.prefix + "InitiateAuth", body))
        #expect(response.status == 200)
        #expect(response.contentType == "application/x-amz-json-1.1")
        #expect(response.headers.map(\.name) == ["x-amzn-requestid"])
        #expect(try JSON.parse(response.body)["AuthenticationResult"]?["TokenType"] == "Bearer")
    }

    @Test("Health and key set are there without any proof")
    func open() async throws {
        let pool = try TestPool().pool
        let router = LocalPoolRouter(pool: pool)
        #expect(await router.answer(Self.get("/_local/health")).status == 200)
        let keys = await router.answer(Self.get("/us-east-1_TEST/.well-known/jwks.json"))
        #expect(try JSON.parse(keys.body) == .object(pool.keySet))
    }

    @Test(
        "The inbox lists an address's codes, newest last",
        arguments: [
            "/_local/inbox?email=new%2Bone@example.com", "/_local/inbox?x=1&email=NEW%2bone%40example.com",
        ])
    func inbox(target: String) async throws {
        let pool = try TestPool()
        for email in ["other@example.com", "new+one@example.com"] {
            _ = try await pool.pool.answer("SignUp", TestPool.signUp(email))
        }
        let response = await LocalPoolRouter(pool: pool.pool).answer(Self.get(target))
        let code = try await pool.code(for: "new+one@example.com")
        #expect(
            try JSON.parse(response.body) == [
                [
                    "email": "new+one@example.com", "purpose": "sign-up", "code": .string(code),
                    "sent_at": .number(JSONNumber(pool.clock.now)),
                ]
            ])
    }
}
