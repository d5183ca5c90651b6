import HTTPTypes
import Pipeline
import Testing

@Suite("WebSocket: opening")
struct WebSocketOpeningTests {
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let handshake = [
        ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Protocol", "chat"),
    ]

    let tokens: VerifyFixture
    let gate: Gate

    init() throws {
        tokens = try VerifyFixture()
        let backend = Destination.upstream("api")
        let page = CrossOrigin(origins: .listed(["https://app.example"]), methods: [.get], headers: [])
        let routes = [
            Route(
                name: "open", pattern: try RoutePattern("/open"), methods: [.get, .post], access: .public,
                destination: backend, webSocket: WebSocketPolicy()),
            Route(
                name: "required", pattern: try RoutePattern("/required"), access: .required, destination: backend,
                webSocket: WebSocketPolicy(idleTimeout: .seconds(60))),
            Route(
                name: "lasting", pattern: try RoutePattern("/lasting"), access: .required, destination: backend,
                webSocket: WebSocketPolicy(closesOnExpiry: false)),
            Route(
                name: "page", pattern: try RoutePattern("/page"), access: .public, destination: backend,
                crossOrigin: page, webSocket: WebSocketPolicy()),
            Route(name: "plain", pattern: try RoutePattern("/plain"), access: .public, destination: backend),
            Route(name: "me", pattern: try RoutePattern("/me"), access: .public, destination: .endpoint(0)),
        ]
        gate = Gate(
            routes: try RouteTable(routes),
            verifier: TokenVerifier(issuers: [VerifyFixture.pool, VerifyFixture.otherPool]))
    }

    enum Verdict: Equatable {
        case webSocket(key: String?, endsAt: Int64?, idle: Duration)
        case ordinary
        case endpoint
        case refused(Int, String)
    }

    func verdict(
        _ path: String, _ fields: [(String, String)] = handshake, method: HTTPRequest.Method = .get,
        wants: String? = "websocket", hasBody: Bool = false
    ) throws -> Verdict {
        var request = try GateFixture.request(path, fields, method: method)
        request.extendedConnectProtocol = wants
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now,
            hasBody: hasBody)
        let decision = gate.decide(
            request, context, cache: TokenCache(), keySets: [tokens.keySet, tokens.otherKeySet])
        switch consume decision {
        case .forward(let permit):
            guard let grant = permit.webSocket else { return .ordinary }
            let passing = [HTTPField.Name.secWebSocketKey, .secWebSocketProtocol, .upgrade].filter { name in
                permit.passes(HTTPField(name: name, value: "x"))
            }
            #expect(passing == [.secWebSocketProtocol])
            return .webSocket(key: grant.key, endsAt: grant.endsAt, idle: grant.idleTimeout)
        case .endpoint: return .endpoint
        case .refuse(let refusal, _): return .refused(refusal.error.status.code, refusal.reason.code)
        default: return .refused(0, "something else")
        }
    }

    static func changed(_ name: String, _ value: String?) -> [(String, String)] {
        handshake.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? [])
    }

    static let granted = Verdict.webSocket(key: key, endsAt: nil, idle: .seconds(3600))

    @Test("A handshake is granted where the route has WebSockets, and an ordinary request elsewhere")
    func routes() throws {
        #expect(try verdict("/open") == Self.granted)
        #expect(try verdict("/open", wants: nil) == .ordinary)
        #expect(try verdict("/open", wants: "h2c") == .ordinary)
        #expect(try verdict("/plain") == .ordinary)
        #expect(try verdict("/plain", [], method: .post, hasBody: true) == .ordinary)
        #expect(try verdict("/me") == .endpoint)
    }

    @Test("It ends with the token that opened it, unless the route lets it stay")
    func expiry() throws {
        let bearer = try Credential.valid.fields(tokens)
        // `exp` and the clock skew.
        let end = VerifyFixture.now + 3600 + VerifyFixture.pool.skew
        #expect(
            try verdict("/required", Self.handshake + bearer)
                == .webSocket(key: Self.key, endsAt: end, idle: .seconds(60)))
        #expect(try verdict("/lasting", Self.handshake + bearer) == Self.granted)
    }

    @Test("Policy comes before the handshake's own faults")
    func policyFirst() throws {
        #expect(try verdict("/required") == .refused(401, "token-missing"))
        #expect(try verdict("/required", []) == .refused(401, "token-missing"))
        #expect(try verdict("/nowhere") == .refused(404, "no-route"))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fields = WebSocketOpeningTests.handshake
        var method = HTTPRequest.Method.get
        var hasBody = false
        var reason = "websocket-handshake"
    }

    static let malformed = [
        Row(testDescription: "no key", fields: changed("Sec-WebSocket-Key", nil)),
        Row(testDescription: "two keys", fields: handshake + [("Sec-WebSocket-Key", key)]),
        Row(testDescription: "a short key", fields: changed("Sec-WebSocket-Key", "c2hvcnQ=")),
        Row(
            testDescription: "a key of other characters",
            fields: changed("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZ!==")),
        Row(testDescription: "a key without padding", fields: changed("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQAA")),
        Row(testDescription: "POST", method: .post),
        Row(testDescription: "a body", hasBody: true),
        Row(testDescription: "no version", fields: changed("Sec-WebSocket-Version", nil), reason: "websocket-version"),
        Row(testDescription: "version 8", fields: changed("Sec-WebSocket-Version", "8"), reason: "websocket-version"),
    ]

    @Test("A handshake that is none is refused", arguments: malformed)
    func refused(row: Row) throws {
        let verdict = try verdict("/open", row.fields, method: row.method, hasBody: row.hasBody)
        #expect(verdict == .refused(400, row.reason))
    }

    @Test("Pages of other origins open none where the route names origins (RFC 6455 §10.2)")
    func origins() throws {
        #expect(try verdict("/page") == Self.granted)
        #expect(try verdict("/page", Self.handshake + [("Origin", "https://app.example")]) == Self.granted)
        #expect(
            try verdict("/page", Self.handshake + [("Origin", "https://evil.example")])
                == .refused(403, "cors-not-allowed"))
    }

    @Test("An extended CONNECT opens one without a key, and nothing else (RFC 8441)")
    func extendedConnect() throws {
        let fields = Self.changed("Sec-WebSocket-Key", nil)
        func connect(_ path: String, _ wants: String? = "websocket", hasBody: Bool = true) throws -> Verdict {
            try verdict(path, fields, method: .connect, wants: wants, hasBody: hasBody)
        }
        #expect(try connect("/open") == .webSocket(key: nil, endsAt: nil, idle: .seconds(3600)))
        #expect(try connect("/required") == .refused(401, "token-missing"))
        #expect(try connect("/open", hasBody: false) == .refused(400, "websocket-handshake"))
        #expect(try connect("/open", "connect-udp") == .refused(501, "websocket-not-served"))
        #expect(try connect("/plain") == .refused(501, "websocket-not-served"))
        #expect(try connect("/me") == .refused(501, "websocket-not-served"))
        guard case .refused(405, _) = try connect("/open", nil) else {
            Issue.record("a CONNECT without a protocol was routed")
            return
        }
    }

    @Test("RFC 6455 §1.3's example of an accepted key")
    func accept() {
        #expect(WebSocketHandshake.accept(for: Self.key) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketHandshake.key(of: Array("the sample nonce".utf8)) == Self.key)
    }
}
