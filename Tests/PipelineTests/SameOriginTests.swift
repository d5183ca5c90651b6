import HTTPTypes
import Testing

@testable import Pipeline

/// Row 90: whose page a request is from.
@Suite("Requests of pages: the same origin")
struct SameOriginTests {
    static func request(_ authority: String?, _ origins: [String]) -> HTTPRequest {
        var request = HTTPRequest(method: .post, scheme: "https", authority: authority, path: "/")
        for origin in origins { request.headerFields.append(HTTPField(name: .origin, value: origin)) }
        return request
    }

    static let cases: [(authority: String?, scheme: String, origins: [String], isSame: Bool)] = [
        ("api.example", "https", ["https://api.example"], true),
        ("api.example", "https", ["http://api.example"], false),
        ("api.example", "http", ["http://api.example"], true),
        ("api.example", "http", ["https://api.example"], false),
        ("API.Example", "https", ["https://api.example"], true),
        ("API.Example:8443", "https", ["https://api.example:8443"], true),
        ("api.example", "https", ["https://API.example"], false),
        ("api.example:443", "https", ["https://api.example"], true),
        ("api.example:443", "http", ["http://api.example"], false),
        ("api.example:443", "http", ["http://api.example:443"], true),
        ("api.example:80", "http", ["http://api.example"], true),
        ("api.example:80", "https", ["https://api.example"], false),
        ("api.example:8443", "https", ["https://api.example"], false),
        ("api.example", "https", ["https://api.example", "https://api.example"], false),
        ("api.example", "https", ["https://api.example", "https://evil.example"], false),
        ("api.example", "https", ["https://api.example, https://evil.example"], false),
        ("api.example", "https", ["https://api.example/"], false), ("api.example", "https", ["null"], false),
        ("api.example", "https", [], false), (nil, "https", ["https://"], false),
    ]

    @Test("An origin is the request's own by scheme, host and port", arguments: cases)
    func origins(authority: String?, scheme: String, origins: [String], isSame: Bool) {
        let request = Self.request(authority, origins)
        #expect(SameOrigin(request, scheme: scheme, nil).mayUseCookie == isSame)
    }

    @Test("Another page may where the route's settings name it for requests with credentials, and say so once")
    func otherPages() {
        let named = CrossOrigin(
            origins: .listed(["https://app.example"]), methods: [.post], headers: [], credentials: true)
        let app = Self.request("api.example", ["https://app.example"])
        #expect(SameOrigin(app, scheme: "https", named).mayUseCookie)
        let twice = Self.request("api.example", ["https://app.example", "https://app.example"])
        #expect(!SameOrigin(twice, scheme: "https", named).mayUseCookie)
        var without = named
        without.credentials = false
        #expect(!SameOrigin(app, scheme: "https", without).mayUseCookie)
    }
}
