import SettingsReader
import Testing

@testable import Settings

@Suite("forward_headers, paths, and what check says of them")
struct ForwardHeaderTests {
    static func sample(upstream: String = "", route: String = "", more: String = "") -> String {
        var sample = Sample()
        sample.upstreams = "upstreams: {api: {url: 'http://127.0.0.1:8000'\(upstream.isEmpty ? "" : ", " + upstream)}}"
        sample.routes = "routes: [{path: /api/**, upstream: api\(route.isEmpty ? "" : ", " + route)}]"
        sample.more = more
        return sample.yaml
    }

    @Test("Headers are let through by an upstream or a route")
    func names() throws {
        let settings = try load(
            Self.sample(
                upstream: "forward_headers: [X-Rewrite-URL]", route: "forward_headers: [remote-user, Forwarded]"))
        #expect(settings.upstreams[0].forwardHeaders.names == ["X-Rewrite-URL"])
        #expect(settings.routes[0].forwardHeaders.names == ["remote-user", "Forwarded"])
        #expect(try load(Self.sample()).routes[0].forwardHeaders.names == [])
    }

    @Test(
        "Only what would be removed for its meaning is let through",
        arguments: [
            ("Accept", "is not removed anyway"), ("X-App-Version", "is not removed anyway"),
            ("X-Auth-Subject", "is an identity header"), ("x_auth_request_user", "is an identity header"),
            ("Host", "is the gateway's own"), ("Connection", "is the gateway's own"),
            ("X-Forwarded-For", "is the gateway's own"), ("x_forwarded_host", "is the gateway's own"),
            ("X-Request-Id", "is the gateway's own"), ("X-Amz-Date", "is the gateway's own"),
            ("Transfer_Encoding", "is the gateway's own"), ("X-Envoy-*", "must be the whole name"),
            ("Remote User", "must be the whole name"), ("''", "must be the whole name"),
        ])
    func refused(name: String, message: String) {
        for yaml in [
            Self.sample(upstream: "forward_headers: [\(name)]"), Self.sample(route: "forward_headers: [\(name)]"),
        ] {
            #expect(errors(yaml).contains { $0.contains("forward_headers") && $0.contains(message) }, "\(errors(yaml))")
        }
    }

    @Test("What the gateway sets by the settings is not let through")
    func ownNames() {
        let claim = Self.sample(
            route: "forward_headers: [Remote_User]", more: "identity: {claims: {Remote-User: username}}")
        #expect(errors(claim).contains { $0.contains("Remote_User is an identity header") })
        let namespace = Self.sample(upstream: "forward_headers: [remote-name]", more: "identity: {namespace: Remote-}")
        #expect(errors(namespace).contains { $0.contains("remote-name is an identity header") })
        let rule = Self.sample(
            route: "forward_headers: [X-Script-Name], request_headers: {add: {x_script_name: /app}}")
        #expect(errors(rule).contains { $0.contains("X-Script-Name is among request_headers") })
    }

    @Test("Each header that is let through is told with its readers and what they make of it")
    func warnings() throws {
        let settings = try load(
            Self.sample(
                upstream: "forward_headers: [script-name]", route: "forward_headers: [Remote-User, X-Forwarded-Prefix]")
        )
        let told = settings.warnings.map(\.description)
        #expect(told.count == 3 && settings.warnings.allSatisfy { $0.kind == .trustedHeader })
        #expect(told[0].hasPrefix("line 2: upstreams.api.forward_headers: script-name is let through, which gunicorn"))
        #expect(told[0].hasSuffix("take for the path: a client reaches paths that other routes protect"))
        #expect(told[1].contains("routes[0].forward_headers: Remote-User") && told[1].contains("is whoever it says"))
        #expect(told[2].contains("take for the path"))
    }

    static let laxAndStrict = [
        ("{path: /ex/**, upstream: api, access: public}", "{path: /ex/admin/**, upstream: api}"),
        ("{path: /ex/**, upstream: api, access: optional}", "{path: /ex/admin, upstream: api}"),
        ("{path: /ex/**, upstream: api}", "{path: /ex/admin, upstream: api, require: {groups: {any: [staff]}}}"),
        ("{path: /ex/**, upstream: api}", "{path: '/ex/users/{sub}', upstream: api}"),
        ("{path: /ex/*, upstream: api, access: public}", "{path: /ex/admin, upstream: api}"),
    ]

    @Test(
        "A stricter route under a laxer one is told until the upstream says whether case counts",
        arguments: laxAndStrict)
    func pathCase(lax: String, strict: String) throws {
        func warnings(_ said: String) throws -> [SettingsWarning] {
            var sample = Sample()
            sample.upstreams = "upstreams: {api: {url: 'http://127.0.0.1:8000'\(said)}}"
            sample.routes = "routes:\n  - \(lax)\n  - \(strict)"
            return try load(sample.yaml).warnings
        }
        let told = try warnings("")
        #expect(told.map(\.kind) == [.pathCase] && told[0].keyPath == "routes[1]")
        #expect(told[0].text.contains("set upstreams.api.paths to case_insensitive"))
        #expect(try warnings(", paths: case_sensitive").isEmpty)
        #expect(try warnings(", paths: case_insensitive").isEmpty)
    }

    @Test(
        "Nothing is told where other letters lead to nothing laxer",
        arguments: [
            ("{path: /ex/**, upstream: api}", "{path: /ex/open/**, upstream: api, access: public}"),
            ("{path: /ex/**, upstream: api}", "{path: /ex/admin/**, upstream: api}"),
            ("{path: /ex/**, upstream: api, access: public}", "{path: /admin/**, upstream: api}"),
            ("{path: /ex/**, upstream: other, access: public}", "{path: /ex/admin/**, upstream: api}"),
            ("{path: /ex/**, upstream: api, access: public}", "{path: '/ex/*/1', upstream: api}"),
        ])
    func quiet(one: String, other: String) throws {
        var sample = Sample()
        sample.upstreams = "upstreams: {api: {url: 'http://127.0.0.1:1'}, other: {url: 'http://127.0.0.1:2'}}"
        sample.routes = "routes:\n  - \(one)\n  - \(other)"
        #expect(try load(sample.yaml).warnings.map(\.description) == [])
    }

    @Test("The setting is one of two words")
    func words() throws {
        #expect(try load(Self.sample()).upstreams[0].paths == .caseSensitive)
        #expect(try load(Self.sample(upstream: "paths: case_insensitive")).upstreams[0].paths == .caseInsensitive)
        #expect(errors(Self.sample(upstream: "paths: lower")).contains { $0.contains("must be one of case_sensitive") })
    }
}
