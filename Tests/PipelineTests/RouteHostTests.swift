import HTTPTypes
import Pipeline
import Testing

@Suite("Routes by host")
struct RouteHostTests {
    static func route(
        _ name: String, _ hosts: [String]?, _ pattern: String, _ methods: Set<HTTPRequest.Method>? = nil,
        ignoresCase: Bool = false
    ) throws -> Route {
        Route(
            name: name, pattern: try RoutePattern(pattern), hosts: hosts?.map { RouteHost($0) }, methods: methods,
            access: .public, destination: .upstream("backend"), ignoresCase: ignoresCase)
    }

    static func outcome(
        _ table: RouteTable, _ authority: String?, _ target: String, _ method: HTTPRequest.Method = .get
    ) throws -> String {
        switch table.match(method: method, path: try RequestPath.parse(target), authority: authority) {
        case .route(let index): table.routes[index].name
        case .methodNotAllowed(let allow): "405 " + allow.map(\.rawValue).joined(separator: ",")
        case .none: "404"
        }
    }

    static let cases: [(String?, String, String)] = [
        ("shop.example.com", "/x", "shop"), ("SHOP.example.COM", "/x", "shop"), ("shop.example.com:8443", "/x", "shop"),
        ("shop.example.com.", "/x", "shop"), ("shop.example.com..:80", "/x", "shop"),
        ("shop.example.com.evil.test", "/x", "404"), ("xshop.example.com", "/x", "wild"),
        ("evil.test", "/health", "health"), (nil, "/health", "health"), ("", "/health", "health"),
        // The host decides before the path does, and gives way only where it has no pattern for the path.
        ("shop.example.com", "/health", "shop"), ("narrow.example.com", "/health", "health"),
        ("narrow.example.com", "/orders/7", "narrow"), ("narrow.example.com", "/x", "wild"),
        ("a.example.com", "/x", "wild"), ("a.b.example.com", "/x", "404"), ("example.com", "/x", "404"),
        (".example.com", "/x", "404"), (".", "/x", "404"), ("both.test", "/b", "two"), ("also.test", "/b", "two"),
        ("192.0.2.7", "/x", "address"), ("192.0.2.7:80", "/x", "address"), ("[2001:DB8:0::7]:80", "/x", "address"),
        ("[2001:db8::8]", "/x", "404"), ("[", "/x", "404"),
    ]

    @Test("The most specific host decides, then the most specific path", arguments: cases)
    func hosts(authority: String?, target: String, expected: String) throws {
        let table = try RouteTable([
            Self.route("health", nil, "/health"), Self.route("shop", ["shop.example.com"], "/**"),
            Self.route("wild", ["*.example.com"], "/x"), Self.route("narrow", ["narrow.example.com"], "/orders/*"),
            Self.route("two", ["both.test", "also.test"], "/b"),
            Self.route("address", ["192.0.2.7", "2001:db8::7"], "/**"),
        ])
        #expect(try Self.outcome(table, authority, target) == expected)
    }

    @Test("The most specific route decides alone: another host's method is not allowed")
    func methods() throws {
        let table = try RouteTable([
            Self.route("get", ["a.test"], "/x", [.get]), Self.route("post", nil, "/x", [.post]),
            Self.route("put", ["a.test"], "/x", [.put]),
        ])
        #expect(try Self.outcome(table, "a.test", "/x", .put) == "put")
        #expect(try Self.outcome(table, "a.test", "/x", .post) == "405 GET,HEAD,PUT")
        #expect(try Self.outcome(table, "b.test", "/x", .post) == "post")
        #expect(try Self.outcome(table, "b.test", "/x", .get) == "405 POST")
    }

    static func own(_ name: String, _ pattern: String, _ method: HTTPRequest.Method) throws -> Route {
        Route(
            name: name, pattern: try RoutePattern(pattern), methods: [method], access: .public,
            destination: .endpoint(0))
    }

    static func tableWithEndpoints() throws -> RouteTable {
        try RouteTable([
            own("login", "/auth/login", .post), own("end-session", "/auth/me/sessions/*", .delete),
            route("shop", ["shop.test"], "/**"), route("auth", ["auth.test", "a.wild.test"], "/auth/**"),
            route("wild", ["*.wild.test"], "/**"), route("narrow", ["narrow.test"], "/x"),
            route("page", ["page.test"], "/auth/login", [.get]), route("page-rest", ["page.test"], "/auth/*"),
            route("any-page", nil, "/auth/login", [.get]), route("one", nil, "/auth/me/sessions/this", [.get]),
        ])
    }

    static let endpointCases: [(String?, String, HTTPRequest.Method, String)] = [
        ("shop.test", "/auth/login", .post, "login"), ("SHOP.test.:80", "/auth/login/", .post, "login"),
        ("auth.test", "/auth/login", .post, "login"), ("a.wild.test", "/auth/login", .post, "login"),
        ("b.wild.test", "/auth/login", .post, "login"), ("narrow.test", "/auth/login", .post, "login"),
        ("other.test", "/auth/login", .post, "login"), (nil, "/auth/login", .post, "login"),
        ("shop.test", "/auth/me/sessions/7", .delete, "end-session"),
        // As without hosts, the most specific path decides alone.
        ("shop.test", "/auth/login", .get, "405 POST"), ("shop.test", "/auth/me/sessions/7", .get, "405 DELETE"),
        ("shop.test", "/auth/login;p", .post, "404"), ("shop.test", "/auth/login/..", .post, "shop"),
        ("shop.test", "/auth", .post, "shop"), ("shop.test", "/auth/other", .post, "shop"),
        ("a.wild.test", "/auth/other", .post, "auth"), ("a.wild.test", "/x", .post, "wild"),
        ("page.test", "/auth/login", .get, "page"), ("page.test", "/auth/login", .post, "login"),
        ("page.test", "/auth/login", .put, "405 GET,HEAD,POST"), ("page.test", "/auth/x", .get, "page-rest"),
        // A host without a route for the path gives way to the routes without hosts.
        ("narrow.test", "/auth/login", .get, "any-page"), ("narrow.test", "/auth/me/sessions/this", .get, "one"),
    ]

    @Test("No host's wider route takes the gateway's own calls", arguments: endpointCases)
    func endpoints(authority: String?, target: String, method: HTTPRequest.Method, expected: String) throws {
        #expect(try Self.outcome(Self.tableWithEndpoints(), authority, target, method) == expected)
    }

    @Test("Before a backend that ignores case, a host's wider route takes no endpoint in other letters either")
    func foldedEndpoints() throws {
        let table = try RouteTable([
            Self.own("login", "/auth/login", .post), Self.route("shop", ["shop.test"], "/**", ignoresCase: true),
        ])
        #expect(try Self.outcome(table, "shop.test", "/auth/login", .post) == "login")
        #expect(try Self.outcome(table, "shop.test", "/Auth/Login", .post) == "404")
    }

    @Test("A host's route that takes an endpoint's path and method is a fault that names both")
    func endpointOverlap() throws {
        for host in ["shop.test", "*.shop.test"] {
            let routes = [
                try Self.own("login", "/auth/login", .post), try Self.route("mine", [host], "/auth/login", [.post]),
            ]
            let fault = #expect(throws: RouteError.self) { try RouteTable(routes) }
            #expect(fault?.message.contains("\"login\"") == true && fault?.message.contains("\"mine\"") == true)
        }
    }

    @Test("A path that can be read differently counts only where every reading is under one route of one host")
    func readings() throws {
        let table = try RouteTable([Self.route("a", ["a.test"], "/x/**"), Self.route("any", nil, "/**")])
        #expect(try Self.outcome(table, "a.test", "/x/y;p") == "a")
        #expect(try Self.outcome(table, "a.test", "/x;p/y") == "404")
        #expect(try Self.outcome(table, "b.test", "/x;p/y") == "any")
    }

    @Test("Before a backend that ignores case, another host's route in other letters is none")
    func folding() throws {
        let table = try RouteTable([
            Self.route("a", ["a.test"], "/Admin", ignoresCase: true), Self.route("any", nil, "/**", ignoresCase: true),
            Self.route("b", ["b.test"], "/admin", ignoresCase: true),
        ])
        #expect(try Self.outcome(table, "a.test", "/Admin") == "a")
        #expect(try Self.outcome(table, "a.test", "/ADMIN") == "404")
        #expect(try Self.outcome(table, "c.test", "/ADMIN") == "any")
        #expect(throws: RouteError.self) {
            try RouteTable([
                Self.route("one", ["a.test"], "/a", ignoresCase: true), Self.route("two", ["a.test"], "/A"),
            ])
        }
    }

    @Test(
        "Two routes that share host, pattern and method are a fault that names both; other hosts' are not",
        arguments: [
            (["a.test"], ["a.test"], true), (["a.test", "b.test"], ["c.test", "b.test"], true), (nil, nil, true),
            (["a.test"], ["b.test"], false), (["a.test"], nil, false), (["a.test"], ["*.test"], false),
            (["*.a.test"], ["*.a.test"], true), (["*.a.test"], ["a.test"], false),
        ] as [([String]?, [String]?, Bool)])
    func overlap(one: [String]?, two: [String]?, isFault: Bool) throws {
        let routes = [try Self.route("first", one, "/a"), try Self.route("second", two, "/a")]
        guard isFault else {
            #expect(throws: Never.self) { try RouteTable(routes) }
            return
        }
        let fault = #expect(throws: RouteError.self) { try RouteTable(routes) }
        #expect(fault?.message.contains("\"first\"") == true && fault?.message.contains("\"second\"") == true)
    }
}
