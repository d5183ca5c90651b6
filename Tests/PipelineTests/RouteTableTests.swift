import HTTPTypes
import Pipeline
import Testing

@Suite("RoutePattern and RouteTable")
struct RouteTableTests {
    static func route(
        _ name: String, _ pattern: String, _ methods: Set<HTTPRequest.Method>? = nil, access: Access = .required
    ) throws -> Route {
        Route(
            name: name, pattern: try RoutePattern(pattern), methods: methods, access: access,
            destination: .upstream("backend"))
    }

    /// The outcome of a request: a route's name, `405 <Allow>` or `404`.
    static func outcome(_ table: RouteTable, _ method: HTTPRequest.Method, _ target: String) throws -> String {
        switch table.match(method: method, path: try RequestPath.parse(target)) {
        case .route(let index): table.routes[index].name
        case .methodNotAllowed(let allow): "405 " + allow.map(\.rawValue).joined(separator: ",")
        case .none: "404"
        }
    }

    static func table() throws -> RouteTable {
        try RouteTable([
            route("everything", "/**", [.get]),
            route("api", "/api/**"),
            route("api-exact", "/api/health", [.get], access: .public),
            route("users", "/users/*", [.get, .delete]),
            route("me", "/users/me", [.get]),
            route("photo", "/users/*/photo", [.put]),
            route("photo-read", "/users/*/photo", [.get]),
            route("settings", "/users/me/settings/**"),
            route("admin", "/admin"),
            route("root", "/", [.post]),
            route("any-below", "/*/below/**"),
            route("café", "/café"),
        ])
    }

    static let cases: [(HTTPRequest.Method, String, String)] = [
        (.get, "/unknown", "everything"),
        (.get, "/unknown/deep/er", "everything"),
        (.get, "/api", "api"),
        (.get, "/api/", "api"),
        (.delete, "/api/a/b/c", "api"),
        (.get, "/apis", "everything"),
        (.get, "/api/health", "api-exact"),
        (.get, "/api/health/", "api-exact"),
        (.get, "/api/health/x", "api"),
        (.get, "/api/%68ealth", "api-exact"),
        (.get, "/users/me", "me"),
        (.get, "/users/7", "users"),
        (.delete, "/users/7", "users"),
        (.get, "/users/7/photo", "photo-read"),
        (.put, "/users/7/photo?size=1", "photo"),
        (.put, "/users/me/photo", "photo"),
        (.get, "/users/me/settings", "settings"),
        (.get, "/users/me/settings/a", "settings"),
        (.get, "/users/me/other", "everything"),
        (.get, "/users", "everything"),
        (.get, "/x/below", "any-below"),
        (.get, "/api/below", "api"),
        (.get, "/admin", "admin"),
        (.get, "/admin/", "admin"),
        (.get, "/%61dmin", "admin"),
        (.get, "/admin?/public", "admin"),
        (.get, "/Admin", "everything"),
        (.get, "/caf%C3%A9", "café"),
        (.get, "/cafe%CC%81", "everything"),
        // The most specific pattern decides the method, never a wider one.
        (.post, "/unknown", "405 GET,HEAD"),
        (.post, "/api/health", "405 GET,HEAD"),
        (.delete, "/users/me", "405 GET,HEAD"),
        (.delete, "/users/7/photo", "405 GET,HEAD,PUT"),
        (.get, "/", "405 POST"),
        // HEAD goes with GET, OPTIONS with nothing.
        (.head, "/users/me", "me"),
        (.head, "/users/7/photo", "photo-read"),
        (.options, "/users/me", "405 GET,HEAD"),
        (.options, "/admin", "admin"),
    ]

    @Test("The most specific pattern decides", arguments: cases)
    func matches(method: HTTPRequest.Method, target: String, expected: String) throws {
        #expect(try Self.outcome(Self.table(), method, target) == expected)
    }

    @Test(
        "What no pattern names is not found, whatever its spelling", arguments: ["/b", "/A", "/", "/a/b", "/a.", "/ab"])
    func notFound(target: String) throws {
        let table = try RouteTable([Self.route("a", "/a")])
        #expect(try Self.outcome(table, .get, target) == "404")
    }

    @Test("CONNECT and TRACE never match a route", arguments: [HTTPRequest.Method.connect, .trace])
    func neverRouted(method: HTTPRequest.Method) throws {
        let table = try RouteTable([Self.route("all", "/**")])
        #expect(try Self.outcome(table, method, "/a") == "405 GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS")
    }

    @Test("An extension method matches where methods are not limited or where it is named")
    func extensionMethods() throws {
        let report = try #require(HTTPRequest.Method("REPORT"))
        let table = try RouteTable([
            Self.route("all", "/all"), Self.route("named", "/named", [report, .get]), Self.route("get", "/get", [.get]),
        ])
        #expect(try Self.outcome(table, report, "/all") == "all")
        #expect(try Self.outcome(table, report, "/named") == "named")
        #expect(try Self.outcome(table, report, "/get") == "405 GET,HEAD")
        #expect(try Self.outcome(table, .post, "/named") == "405 GET,HEAD,REPORT")
        let lower = try #require(HTTPRequest.Method("get"))
        #expect(try Self.outcome(table, lower, "/get") == "405 GET,HEAD")
    }

    @Test("A route of its own takes HEAD before GET's does")
    func ownHead() throws {
        let table = try RouteTable([Self.route("get", "/a", [.get]), Self.route("head", "/a", [.head])])
        #expect(try Self.outcome(table, .head, "/a") == "head")
        #expect(try Self.outcome(table, .get, "/a") == "get")
    }

    /// Rows 45, 48, 49 and 53: software that resolves dots, drops `;parameters`, drops controls or ends at them, or
    /// decodes before it splits off query and fragment, would see another path; that must not fall under another rule.
    @Test(
        "A path that others would read differently matches only if every reading has the same rule",
        arguments: [
            ("/admin;x=1", "404"), ("/admin;", "404"), ("/admin%3bx", "404"), ("/admin%23", "404"),
            ("/admin%3f/a", "404"), ("/admin%23/below", "404"), ("/api;x", "404"), ("/api/a;v=1", "api"),
            ("/api/a;v=1/b", "api"), ("/users/7;v=1", "users"), ("/users/me;v=1", "404"),
            ("/users/7;a=b/photo", "photo-read"), ("/other;x/y%23", "everything"),
            ("/admin%0a", "404"), ("/ad%0dmin", "404"), ("/admin%0a.png", "404"), ("/%09admin", "404"),
            ("/admin%0a;x", "404"), ("/admin;x%0a", "404"), ("/admin/x/..", "404"), ("/admin/.", "404"),
            ("/other/..", "404"), ("/api/..", "404"), ("/api/a/..?b", "api"), ("/api/a/.", "api"),
            ("/api/a%0ab", "api"), ("/other/a;b/..", "everything"), ("/other%09", "everything"),
        ])
    func otherReadings(target: String, expected: String) throws {
        #expect(try Self.outcome(Self.table(), .get, target) == expected)
    }

    /// Row 48: Tomcat, Jetty and Undertow drop `;parameters` before they decode, and what is in them with them.
    @Test(
        "A path that is another one without its parameters matches only if both have the same rule, whatever is in them",
        arguments: [
            ("/api/v1;%3f/admin/x", "404"), ("/api/v1;%23/admin", "404"), ("/api/v1;a/x%3f/deep", "404"),
            ("/api/v1;%0a/admin%0ax", "404"), ("/api/v1;a%3fb;c/admin%3fd", "404"), ("/api;%3f/v1/admin", "404"),
            ("/api/v1/admin;%3f/x", "404"), ("/api/v1;%3f/other", "api"), ("/api/v2;%3f/admin", "api"),
            ("/api/v1/admin/x;%23", "admin"), ("/a;%3f/b%3b%3f/c", "404"), ("/a;%3f/c%3b%3f/c", "everything"),
        ])
    func droppedParameters(target: String, expected: String) throws {
        let table = try RouteTable([
            Self.route("everything", "/**"), Self.route("api", "/api/**"), Self.route("admin", "/api/v1/admin/**"),
            Self.route("deep", "/api/v1/*/deep"), Self.route("exact", "/a/b"),
        ])
        #expect(try Self.outcome(table, .get, target) == expected)
    }

    @Test(
        "A pattern that is not in normal form or misuses * is a fault that names it",
        arguments: [
            "", "a", "a/b", "*", "**", "/a/", "/a//b", "//", "/./a", "/a/..", "/**/a", "/**/**", "/a*", "/a/*b", "/a**",
            "/***", "/a%20b", "/a;x", "/a?b", "/a#b", "/a\\b", "/a\nb", "/a\u{FF0F}b", "/a/**/",
        ])
    func badPatterns(text: String) {
        let fault = #expect(throws: RouteError.self) { try RoutePattern(text) }
        #expect(fault?.message.contains("\"\(text)\"") == true)
    }

    @Test("Two routes of one pattern with a method in common are a fault that names both")
    func overlap() throws {
        let fault = #expect(throws: RouteError.self) {
            try RouteTable([
                Self.route("first", "/a/*", [.get, .post]), Self.route("second", "/a/*", [.post]),
            ])
        }
        #expect(fault?.message.contains("\"first\"") == true && fault?.message.contains("\"second\"") == true)
        #expect(throws: RouteError.self) {
            try RouteTable([Self.route("first", "/a"), Self.route("second", "/a", [.post])])
        }
        let report = try #require(HTTPRequest.Method("REPORT"))
        for pair in [(nil, [report]), ([report], nil), ([report, .get], [report, .put])] as [(Set?, Set?)] {
            #expect(throws: RouteError.self) {
                try RouteTable([Self.route("first", "/a", pair.0), Self.route("second", "/a", pair.1)])
            }
        }
        #expect(throws: Never.self) {
            try RouteTable([Self.route("first", "/a", [.get]), Self.route("second", "/a", [.post])])
        }
    }

    @Test("Routes of one name, without methods, or for CONNECT or TRACE are faults")
    func badRoutes() throws {
        #expect(throws: RouteError.self) { try RouteTable([Self.route("a", "/a"), Self.route("a", "/b")]) }
        #expect(throws: RouteError.self) { try RouteTable([Self.route("a", "/a", [])]) }
        #expect(throws: RouteError.self) { try RouteTable([Self.route("a", "/a", [.connect])]) }
        #expect(throws: RouteError.self) { try RouteTable([Self.route("a", "/a", [.get, .trace])]) }
    }
}
