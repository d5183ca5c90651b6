import HTTPTypes
import Testing

@testable import Pipeline

private func preflight(
    _ origin: String?, _ method: String?, _ headers: String? = nil, path: String = "/api/items"
) -> HTTPRequest {
    var request = HTTPRequest(method: .options, scheme: "https", authority: "gw", path: path)
    request.headerFields[.origin] = origin
    request.headerFields[.accessControlRequestMethod] = method
    request.headerFields[.accessControlRequestHeaders] = headers
    return request
}

@Suite struct CrossOriginTests {
    static let policy = CrossOrigin(
        origins: .listed(["https://app.example"]), methods: [.get, .post], headers: ["authorization", "x-thing"],
        exposedHeaders: ["X-Total"], credentials: true, maximumAge: 60)

    @Test("A preflight that the policy allows is told everything it may do")
    func allowed() throws {
        let asked = try #require(
            CrossOrigin.Preflight(preflight("https://app.example", "POST", "Authorization, X-Thing")))
        let fields = try #require(Self.policy.allowing(asked))
        #expect(fields[.accessControlAllowOrigin] == "https://app.example")
        #expect(fields[.accessControlAllowMethods] == "GET, POST")
        #expect(fields[.accessControlAllowHeaders] == "authorization, x-thing")
        #expect(fields[.accessControlAllowCredentials] == "true")
        #expect(fields[.accessControlMaxAge] == "60")
        #expect(fields[.vary] == "Origin")
    }

    static let refused: [(String, String, String?)] = [
        ("https://evil.example", "GET", nil),
        ("https://app.example.evil.example", "GET", nil),
        ("http://app.example", "GET", nil),
        ("https://app.example:8443", "GET", nil),
        ("https://APP.example", "GET", nil),
        ("https://app.example/", "GET", nil),
        ("null", "GET", nil),
        ("https://app.example", "DELETE", nil),
        ("https://app.example", "get", nil),
        ("https://app.example", "GET", "x-other"),
        ("https://app.example", "GET", "x-thing, x-other"),
    ]

    @Test("Another origin, method or header is not allowed", arguments: refused)
    func notAllowed(origin: String, method: String, headers: String?) throws {
        let asked = try #require(CrossOrigin.Preflight(preflight(origin, method, headers)))
        #expect(Self.policy.allowing(asked) == nil)
    }

    @Test("A plain OPTIONS, or one that says things twice, is no preflight")
    func noPreflight() {
        #expect(CrossOrigin.Preflight(preflight(nil, "GET")) == nil)
        #expect(CrossOrigin.Preflight(preflight("https://app.example", nil)) == nil)
        var twice = preflight("https://app.example", "GET")
        twice.headerFields.append(HTTPField(name: .origin, value: "https://evil.example"))
        #expect(CrossOrigin.Preflight(twice) == nil)
        var get = preflight("https://app.example", "GET")
        get.method = .get
        #expect(CrossOrigin.Preflight(get) == nil)
    }

    static let responses: [(String?, String?, String?)] = [
        ("https://app.example", "https://app.example", "true"),
        ("https://evil.example", nil, nil),
        (nil, nil, nil),
    ]

    @Test("A response is for the page that may read it, whatever the backend says", arguments: responses)
    func response(origin: String?, allowed: String?, credentials: String?) {
        var request = HTTPRequest(method: .get, scheme: "https", authority: "gw", path: "/")
        request.headerFields[.origin] = origin
        var fields: HTTPFields = [.accessControlAllowOrigin: "*", .contentType: "text/plain"]
        Self.policy.apply(to: &fields, for: request)
        #expect(fields[.accessControlAllowOrigin] == allowed)
        #expect(fields[.accessControlAllowCredentials] == credentials)
        #expect(fields[.accessControlExposeHeaders] == (allowed == nil ? nil : "X-Total"))
        #expect(fields[.vary] == "Origin")
        #expect(fields[.contentType] == "text/plain")
    }

    @Test("Without credentials a page is never told that it may send them")
    func withoutCredentials() throws {
        var policy = Self.policy
        policy.credentials = false
        let asked = try #require(CrossOrigin.Preflight(preflight("https://app.example", "GET")))
        let fields = try #require(policy.allowing(asked))
        #expect(fields[.accessControlAllowOrigin] == "https://app.example")
        #expect(fields[.accessControlAllowCredentials] == nil)
        var request = HTTPRequest(method: .get, scheme: "https", authority: "gw", path: "/")
        request.headerFields[.origin] = "https://app.example"
        var response: HTTPFields = [.accessControlAllowCredentials: "true"]
        policy.apply(to: &response, for: request)
        #expect(response[.accessControlAllowOrigin] == "https://app.example")
        #expect(response[.accessControlAllowCredentials] == nil)
    }

    @Test("Two origins are nobody's", arguments: ["https://app.example", "https://evil.example"])
    func twoOrigins(second: String) {
        var request = HTTPRequest(method: .get, scheme: "https", authority: "gw", path: "/")
        for origin in ["https://app.example", second] {
            request.headerFields.append(HTTPField(name: .origin, value: origin))
        }
        var fields: HTTPFields = [.contentType: "text/plain"]
        Self.policy.apply(to: &fields, for: request)
        #expect(fields[.accessControlAllowOrigin] == nil && fields[.accessControlAllowCredentials] == nil)
        #expect(fields[.vary] == "Origin")
        #expect(!Self.policy.allowsPage(of: request))
    }

    @Test("What is the same for every page needs no cache to tell pages apart")
    func openResponse() {
        let open = CrossOrigin(origins: .any, methods: [.get], headers: [])
        for origin in [nil, "https://any.example"] {
            var request = HTTPRequest(method: .get, scheme: "https", authority: "gw", path: "/")
            request.headerFields[.origin] = origin
            var fields = HTTPFields()
            open.apply(to: &fields, for: request)
            #expect(fields[.vary] == nil && fields[.accessControlAllowOrigin] == origin.map { _ in "*" })
        }
    }

    @Test("A header that is canonically equivalent to one that is allowed is another")
    func equivalentHeader() throws {
        let policy = CrossOrigin(origins: .any, methods: [.get], headers: ["x`a"])
        for (name, isAllowed) in [("x`a", true), ("X`A", true), ("x\u{1fef}a", false)] {
            let asked = try #require(CrossOrigin.Preflight(preflight("https://a.example", "GET", name)))
            #expect((policy.allowing(asked) != nil) == isAllowed)
        }
    }

    @Test("Every origin means a star, and never credentials")
    func star() throws {
        let open = CrossOrigin(origins: .any, methods: [.get], headers: [], credentials: true)
        let asked = try #require(CrossOrigin.Preflight(preflight("https://any.example", "GET")))
        let fields = try #require(open.allowing(asked))
        #expect(fields[.accessControlAllowOrigin] == "*")
        #expect(fields[.accessControlAllowCredentials] == nil)
    }
}
