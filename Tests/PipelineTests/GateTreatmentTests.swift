import HTTPTypes
import Pipeline
import Testing

@Suite("Gate: what a route changes")
struct GateTreatmentTests {
    let tokens: VerifyFixture
    let gate: Gate

    init() throws {
        tokens = try VerifyFixture()
        let name = { (text: String) in try #require(HTTPField.Name(text)) }
        let treated = RouteTreatment(
            rewrite: TargetRewrite(stripPrefix: "/api", addPrefix: "/v2"),
            requestHeaders: HeaderRules(
                set: [HTTPField(name: try name("X-Key"), value: "secret"), HTTPField(name: .cookie, value: "own=1")],
                remove: [.userAgent]))
        let sources = TokenSources(cookie: "session", webSocketProtocol: "bearer")
        let without = RouteTreatment(
            requestHeaders: HeaderRules(remove: [.cookie, .secWebSocketProtocol]))
        gate = Gate(
            routes: try RouteTable([
                Route(
                    name: "treated", pattern: try RoutePattern("/api/**"), access: .optional, tokenSources: sources,
                    destination: GateFixture.backend, treatment: treated),
                Route(
                    name: "without", pattern: try RoutePattern("/without"), access: .optional, tokenSources: sources,
                    destination: GateFixture.backend, treatment: without, webSocket: WebSocketPolicy()),
                Route(
                    name: "plain", pattern: try RoutePattern("/plain"), access: .optional, tokenSources: sources,
                    destination: GateFixture.backend),
            ]), verifier: TokenVerifier(issuers: [VerifyFixture.pool]))
    }

    struct Sent: Equatable {
        var target: String
        /// The client's fields that go on.
        var kept: [String]
        /// The route's lines behind the gateway's own.
        var added: [String]
    }

    func sent(_ path: String, _ fields: [(String, String)]) throws -> Sent? {
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now)
        let decision = gate.decide(
            try GateFixture.request(path, fields), context, cache: TokenCache(), keySets: [tokens.keySet])
        guard case .forward(let permit) = consume decision else { return nil }
        let lines = String(decoding: permit.lines, as: UTF8.self)
        #expect(lines.hasPrefix(GatePermitTests.forwarding))
        return Sent(
            target: permit.target,
            kept: permit.request.headerFields.filter { permit.passes($0) }.map { "\($0.name.rawName): \($0.value)" },
            added: lines.dropFirst(GatePermitTests.forwarding.count).split(separator: "\r\n").map(String.init))
    }

    @Test("The path is sent on with another beginning, the query as it came")
    func rewriting() throws {
        #expect(try sent("/api/items?x=/api", [])?.target == "/v2/items?x=/api")
        #expect(try sent("/api", [])?.target == "/v2")
        // Two readings of where the prefix ends.
        #expect(try sent("/%61pi/items", []) == nil)
    }

    @Test("The route's own fields stand in place of the client's, in whatever spelling")
    func headers() throws {
        let fields = [("X-Key", "mine"), ("x_key", "mine"), ("User-Agent", "a"), ("Accept", "b"), ("Cookie", "c=1")]
        #expect(
            try sent("/api/x", fields)
                == Sent(target: "/v2/x", kept: ["Accept: b"], added: ["X-Key: secret", "Cookie: own=1"]))
    }

    @Test("What is left of a cookie or a list of subprotocols goes on only where the route lets the field pass")
    func replacements() throws {
        let fields = [("Cookie", "a=1; b=2"), ("Sec-WebSocket-Protocol", "chat, x")]
        #expect(
            try sent("/plain", fields)
                == Sent(target: "/plain", kept: [], added: ["Cookie: a=1; b=2", "Sec-WebSocket-Protocol: chat, x"]))
        #expect(try sent("/without", fields) == Sent(target: "/without", kept: [], added: []))
        #expect(try sent("/plain", [("Cookie", "session=")]) == Sent(target: "/plain", kept: [], added: []))
    }
}
