import HTTPTypes
import Pipeline
import Testing

@Suite("Gate: token sources")
struct GateTokenSourcesTests {
    static let subject = GateTests.subject
    static let app = "https://app.example"

    let tokens: VerifyFixture
    let gate: Gate
    let token: String

    init() throws {
        tokens = try VerifyFixture()
        token = try tokens.token()
        let page = CrossOrigin(
            origins: .listed([Self.app]), methods: [.get, .post], headers: [], credentials: true)
        let reading = CrossOrigin(origins: .listed([Self.app]), methods: [.get, .post], headers: [])
        let cookie = TokenSources(cookie: "session")
        let route = {
            (name: String, access: Access, sources: TokenSources?, forward: Bool, page: CrossOrigin?) in
            Route(
                name: name, pattern: try RoutePattern("/\(name)"), access: access, tokenSources: sources,
                destination: GateFixture.backend, forwardToken: forward, crossOrigin: page,
                webSocket: WebSocketPolicy())
        }
        gate = Gate(
            routes: try RouteTable([
                try route("bearer", .required, nil, false, nil), try route("cookie", .required, cookie, false, nil),
                try route("optional", .optional, cookie, false, nil),
                try route("forwarding", .required, cookie, true, nil),
                try route("page", .required, cookie, false, page),
                try route("reading", .required, cookie, false, reading),
                try route("socket", .required, TokenSources(webSocketProtocol: "bearer"), false, nil),
                try route("both", .required, TokenSources(cookie: "session", webSocketProtocol: "bearer"), false, nil),
            ]), verifier: TokenVerifier(issuers: [VerifyFixture.pool]))
    }

    /// Fields that go on whatever becomes of the token.
    static let unjudged = ["sec-websocket-version", "sec-fetch-site", "origin"]

    enum Result: Equatable {
        /// The names and values of the client's fields that reach the backend, and of those put in their place.
        case passed(subject: String?, [String], accepted: String?)
        case refused(Int, String)
    }

    /// `TOKEN` in a value stands for the token.
    func result(
        _ path: String, _ fields: [(String, String)], method: HTTPRequest.Method = .get, wants: String? = nil,
        cache: TokenCache = TokenCache()
    ) throws -> Result {
        let fields = fields.map { ($0.0, $0.1.split(separator: "TOKEN", omittingEmptySubsequences: false)) }.map {
            ($0.0, $0.1.joined(separator: token))
        }
        var request = try GateFixture.request(path, fields, method: method, authority: "api.example.com:443")
        request.extendedConnectProtocol = wants
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now,
            hasBody: method == .connect)
        switch gate.decide(request, context, cache: cache, keySets: [tokens.keySet]) {
        case .forward(let permit):
            var passed = request.headerFields.filter { permit.passes($0) }.map {
                "\($0.name.canonicalName): \($0.value)"
            }
            passed += String(decoding: permit.lines, as: UTF8.self).split(separator: "\r\n").map {
                String($0).lowercased()
            }
            .filter { $0.hasPrefix("cookie: ") || $0.hasPrefix("sec-websocket-protocol: ") }
            passed = passed.map {
                $0.split(separator: token, omittingEmptySubsequences: false).joined(separator: "TOKEN")
            }
            return .passed(
                subject: permit.subject, passed.filter { line in !Self.unjudged.contains { line.hasPrefix($0) } },
                accepted: permit.webSocket?.acceptedProtocol)
        case .refuse(let refusal, _):
            return .refused(refusal.error.status.code, refusal.reason.code)
        default:
            return .refused(0, "something else")
        }
    }

    static func passed(_ fields: String..., accepted: String? = nil) -> Result {
        .passed(subject: subject, fields, accepted: accepted)
    }

    // MARK: Cookies

    struct Case: Sendable, CustomTestStringConvertible {
        var fields: [(String, String)]
        var expected: Result
        var testDescription: String { fields.map { "\($0.0): \($0.1)" }.joined(separator: " | ") }

        init(_ fields: [(String, String)], _ expected: Result) {
            self.fields = fields
            self.expected = expected
        }
    }

    @Test(
        "A route that takes its token from a cookie takes it out on the way",
        arguments: [
            Case([("Cookie", "session=TOKEN")], passed()),
            Case([("Cookie", "a=1; session=TOKEN; b=2")], passed("cookie: a=1; b=2")),
            Case([("Cookie", "a=1"), ("Cookie", "session=TOKEN"), ("Cookie", "b=2")], passed("cookie: a=1; b=2")),
            Case([("Cookie", "a=1;session = TOKEN ;;b=2")], passed("cookie: a=1; b=2")),
            Case([("Cookie", "Session=TOKEN")], .refused(401, "token-missing")),
            Case([("Cookie", "session")], .refused(401, "token-missing")),
            Case([("Cookie", "session=")], .refused(401, "token-missing")),
            Case([("Cookie", "asession=TOKEN")], .refused(401, "token-missing")),
            Case([("Cookie", "session=x")], .refused(401, "malformed-token")),
            Case([("Cookie", "session=TOKEN; session=TOKEN")], .refused(400, "repeated-token")),
            Case([("Cookie", "session=TOKEN"), ("Cookie", "session=")], .refused(400, "repeated-token")),
            // To Swift's characters U+037E is a semicolon, and what a combining mark follows is no `=` or `;`.
            Case([("Cookie", "a=\u{37e}session=TOKEN")], .refused(401, "token-missing")),
            Case([("Cookie", "a=\u{37e}session=x; session=TOKEN")], passed("cookie: a=\u{37e}session=x")),
            Case([("Cookie", "session=TOKEN; session=\u{338}x")], .refused(400, "repeated-token")),
            Case([("Cookie", "a=1;\u{338}b=2; session=TOKEN")], passed("cookie: a=1; \u{338}b=2")),
            // The client's explicit token takes precedence.
            Case([("Authorization", "Bearer TOKEN"), ("Cookie", "session=x; a=1")], passed("cookie: a=1")),
            Case([("Authorization", "Bearer x"), ("Cookie", "session=TOKEN")], .refused(401, "malformed-token")),
            Case(
                [("Authorization", "Bearer x"), ("Authorization", "Bearer x"), ("Cookie", "session=TOKEN")],
                .refused(400, "repeated-authorization")),
            Case([("Authorization", "Basic eA=="), ("Cookie", "session=TOKEN")], passed()),
        ])
    func cookies(_ value: Case) throws {
        #expect(try result("/cookie", value.fields) == value.expected)
    }

    @Test("Elsewhere a cookie is no token and goes on as it came")
    func otherRoutes() throws {
        #expect(try result("/bearer", [("Cookie", "session=TOKEN")]) == .refused(401, "token-missing"))
        let both = [("Authorization", "Bearer TOKEN"), ("Cookie", "session=TOKEN")]
        #expect(try result("/bearer", both) == Self.passed("cookie: session=TOKEN"))
        #expect(try result("/optional", [("Cookie", "a=1")]) == .passed(subject: nil, ["cookie: a=1"], accepted: nil))
        #expect(try result("/optional", [("Cookie", "session=x")]) == .refused(401, "malformed-token"))
    }

    @Test("A route that forwards tokens forwards the cookie it came in, and no other token")
    func forwarding() throws {
        #expect(try result("/forwarding", [("Cookie", "session=TOKEN")]) == Self.passed("cookie: session=TOKEN"))
        let both = [("Authorization", "Bearer TOKEN"), ("Cookie", "session=x; a=1")]
        #expect(try result("/forwarding", both) == Self.passed("authorization: Bearer TOKEN", "cookie: a=1"))
    }

    @Test("What is remembered of an Authorization field is no token elsewhere")
    func fieldValueInCookie() throws {
        let cache = TokenCache()
        #expect(try result("/cookie", [("Authorization", "Bearer TOKEN")], cache: cache) == Self.passed())
        let malformed = Result.refused(401, "malformed-token")
        #expect(try result("/cookie", [("Cookie", "session=Bearer TOKEN")], cache: cache) == malformed)
        let offer = [("Sec-WebSocket-Protocol", "bearer, Bearer TOKEN"), ("Sec-WebSocket-Version", "13")]
        #expect(try result("/socket", offer, method: .connect, wants: "websocket", cache: cache) == malformed)
        #expect(cache.count == 1)
    }

    // MARK: Other sites' pages

    static let crossSite = Result.refused(403, "cross-site-request")
    static let own = "https://api.example.com"

    @Test(
        "A cookie counts for what changes something only from a page that may ask for it",
        arguments: [
            Case([], crossSite), Case([("Sec-Fetch-Site", "same-origin")], passed()),
            Case([("Sec-Fetch-Site", "same-site"), ("Origin", app)], crossSite),
            Case([("Sec-Fetch-Site", "none")], crossSite), Case([("Sec-Fetch-Site", "cross-site")], crossSite),
            Case([("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "same-origin")], crossSite),
            Case([("Sec-Fetch-Site", "cross-site"), ("Origin", own)], crossSite),
            Case([("Origin", own)], passed()), Case([("Origin", "http://api.example.com")], crossSite),
            Case([("Origin", "https://api.example.com.evil")], crossSite), Case([("Origin", "null")], crossSite),
            Case([("Origin", "https://api.example.com:8443")], crossSite), Case([("Origin", app)], crossSite),
            Case([("Origin", own), ("Origin", own)], crossSite),
        ])
    func unsafeMethods(_ value: Case) throws {
        let fields = [("Cookie", "session=TOKEN")] + value.fields
        for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
            #expect(try result("/cookie", fields, method: method) == value.expected)
        }
        for method in [HTTPRequest.Method.get, .head, .options] {
            #expect(try result("/cookie", [("Cookie", "session=TOKEN")], method: method) == Self.passed())
        }
        let bearer = [("Authorization", "Bearer TOKEN")]
        #expect(try result("/cookie", bearer, method: .post) == Self.passed())
    }

    @Test("Pages that may call a route with credentials may use its cookie, and no others")
    func crossOrigins() throws {
        let fields = [("Cookie", "session=TOKEN"), ("Origin", Self.app)]
        #expect(try result("/page", fields, method: .post) == Self.passed())
        #expect(try result("/reading", fields, method: .post) == Self.crossSite)
        let other = [("Cookie", "session=TOKEN"), ("Origin", "https://other.example")]
        #expect(try result("/page", other, method: .post) == Self.crossSite)
    }

    @Test("A WebSocket with a cookie is opened for a page that may, over either version of HTTP")
    func webSocketWithCookie() throws {
        let fields = [
            ("Cookie", "session=TOKEN"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", WebSocketOpeningTests.key),
        ]
        for (method, kept) in [(HTTPRequest.Method.get, fields), (.connect, Array(fields.dropLast()))] {
            #expect(try result("/cookie", kept, method: method, wants: "websocket") == Self.crossSite)
            let page = kept + [("Origin", Self.own)]
            #expect(try result("/cookie", page, method: method, wants: "websocket") == Self.passed())
        }
    }

    // MARK: Subprotocols

    @Test(
        "A token among a WebSocket's subprotocols counts and does not reach the backend",
        arguments: [
            Case([("Sec-WebSocket-Protocol", "bearer, TOKEN")], passed(accepted: "bearer")),
            Case(
                [("Sec-WebSocket-Protocol", "chat, bearer,TOKEN , superchat")],
                passed("sec-websocket-protocol: chat, superchat", accepted: "bearer")),
            Case(
                [("Sec-WebSocket-Protocol", "bearer"), ("Sec-WebSocket-Protocol", "TOKEN")], passed(accepted: "bearer")),
            Case([("Sec-WebSocket-Protocol", "bearer")], .refused(401, "token-missing")),
            Case([("Sec-WebSocket-Protocol", "Bearer, TOKEN")], .refused(401, "token-missing")),
            Case([("Sec-WebSocket-Protocol", "TOKEN, bearer")], .refused(401, "token-missing")),
            Case([("Sec-WebSocket-Protocol", "bearer, x")], .refused(401, "malformed-token")),
            Case([("Sec-WebSocket-Protocol", "bearer,\u{301}x")], .refused(401, "malformed-token")),
            Case(
                [("Sec-WebSocket-Protocol", "a, bearer, TOKEN, b, bearer")],
                passed("sec-websocket-protocol: a, b", accepted: "bearer")),
            Case([("Sec-WebSocket-Protocol", "bearer, TOKEN, bearer, TOKEN")], .refused(400, "repeated-token")),
            Case(
                [("Sec-WebSocket-Protocol", "bearer, TOKEN"), ("Authorization", "Bearer TOKEN")],
                .refused(400, "repeated-token")),
            Case(
                [("Sec-WebSocket-Protocol", "chat"), ("Authorization", "Bearer TOKEN")],
                passed("sec-websocket-protocol: chat")),
        ])
    func subprotocols(_ value: Case) throws {
        let fields = value.fields + [("Sec-WebSocket-Version", "13")]
        #expect(try result("/socket", fields, method: .connect, wants: "websocket") == value.expected)
    }

    @Test("A token among subprotocols is none for what opens no WebSocket, and goes to no backend either")
    func ordinaryRequest() throws {
        let field = ("Sec-WebSocket-Protocol", "bearer, TOKEN")
        #expect(try result("/socket", [field]) == .refused(401, "token-missing"))
        #expect(try result("/both", [field, ("Cookie", "session=TOKEN")]) == Self.passed())
    }

    @Test("A subprotocol's token goes before a cookie, and needs no page of the same origin")
    func subprotocolAndCookie() throws {
        let fields = [
            ("Sec-WebSocket-Protocol", "bearer, TOKEN"), ("Cookie", "session=x"), ("Sec-WebSocket-Version", "13"),
        ]
        #expect(
            try result("/both", fields, method: .connect, wants: "websocket") == Self.passed(accepted: "bearer"))
    }
}
