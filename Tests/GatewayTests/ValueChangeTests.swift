import Encoding
import SettingsReader
import Testing

@testable import Gateway
@testable import Settings

@Suite("What a reload tells of single values")
struct ValueChangeTests {
    /// Sections of a file, by name.
    private static let standard = [
        "listeners": "[{address: '127.0.0.1:8080'}]",
        "upstreams": "{a: {servers: [{url: 'http://h:1'}, {url: 'http://h:2'}]}}",
        "issuers": "{users: {user_pool_id: us-east-1_P, client_ids: [one, two]}}",
        "routes": "[{name: api, path: /a, upstream: a, access: optional}]",
    ]

    private static func values(
        _ changes: [String: String], environment: [String: String] = [:], files: [String: String] = [:]
    ) throws -> [ReadValue] {
        let sections = standard.merging(changes) { $1 }.sorted { $0.key < $1.key }
        let yaml = sections.map { "\($0.key): \($0.value)\n" }.joined()
        return try GatewaySettings.load(path: "/settings.yaml", environment: environment) {
            (path) throws(FileReadFailure) in
            if path == "/settings.yaml" { return Array(yaml.utf8) }
            guard let text = files[path] else { throw .notFound }
            return Array(text.utf8)
        }.values
    }

    private static func lines(_ old: [ReadValue], _ new: [ReadValue]) -> [String] {
        ValueChange.lines(ValueChange.all(from: old, to: new))
    }

    @Test(
        "A line says which key, what it was, and what it is",
        arguments: [
            ("limits", "{connections: 10000}", "{connections: 500}", ["limits.connections: 10000 -> 500"]),
            ("limits", "{}", "{connections: 500}", ["limits.connections: 10000 (default) -> 500", "limits: - {}"]),
            ("limits", "{connections: 500}", nil, ["limits.connections: 500 -> 10000 (default)"]),
            ("limits", "{connections: 10000}", nil, []), ("drain_timeout", "60s", "1m", []),
            (
                "routes", nil, "[{name: api, path: /a, upstream: a, access: required}]",
                ["routes[api].access: optional -> required"]
            ),
            (
                "routes", nil,
                "[{name: b, path: /b, upstream: a}, {name: api, path: /a, upstream: a, access: optional}]",
                ["routes[b].name: + b", "routes[b].path: + /b", "routes[b].upstream: + a"]
            ),
            (
                "upstreams", nil, "{a: {servers: [{url: 'http://h:2'}, {url: 'http://h:3'}]}}",
                [
                    "upstreams.a.servers[http://h:3].url: + http://h:3",
                    "upstreams.a.servers[http://h:1].url: - http://h:1",
                ]
            ),
            (
                "upstreams", nil, "{a: {servers: [{url: 'http://h:1'}, {url: 'http://h:2', weight: 5}]}}",
                ["upstreams.a.servers[http://h:2].weight: 1 (default) -> 5"]
            ),
            (
                "issuers", nil, "{users: {user_pool_id: us-east-1_P, client_ids: [one, two], clock_skew: 5s}}",
                ["issuers.users.clock_skew: 1m (default) -> 5s"]
            ),
            (
                "issuers", nil, "{users: {user_pool_id: us-east-1_P, client_ids: [three, one]}}",
                ["issuers.users.client_ids: + three", "issuers.users.client_ids: - two"]
            ),
            (
                "issuers", nil, "{users: {user_pool_id: us-east-1_P, client_ids: [two, one]}}",
                ["issuers.users.client_ids: another order"]
            ),
            ("trusted_proxies", nil, "[10.0.0.0/8]", ["trusted_proxies: + 10.0.0.0/8"]),
            ("identity", nil, "{namespace: X-Caller-}", ["identity.namespace: X-Auth- (default) -> X-Caller-"]),
        ] as [(String, String?, String?, [String])])
    func lines(section: String, old: String?, new: String?, expected: [String]) throws {
        func values(_ text: String?) throws -> [ReadValue] { try Self.values(text.map { [section: $0] } ?? [:]) }
        #expect(Self.lines(try values(old), try values(new)) == expected)
    }

    private static func route(_ key: String) -> [String: String] {
        ["routes": "[{name: pub, path: /p, upstream: a, access: public, request_headers: {add: {X-Key: '\(key)'}}}]"]
    }

    @Test("What comes from a file or the environment, or is a secret by its key, is named and shown nowhere")
    func secrets() throws {
        let environment = ["ONE": "hunter2", "TWO": "hunter3", "PATH": "/hunter4"]
        let files = ["/one": "hunter5\n", "/two": "hunter6\n"]
        func route(_ key: String, _ files: [String: String] = files) throws -> [ReadValue] {
            try Self.values(Self.route(key), environment: environment, files: files)
        }
        let path = "routes[pub].request_headers.add.X-Key"
        for (old, new) in [
            ("file:/one", "file:/two"), ("${ONE}", "${TWO}"), ("hunter2", "hunter3"), ("hunter2", "file:/one"),
        ] {
            let changes = ValueChange.all(from: try route(old), to: try route(new))
            #expect(ValueChange.lines(changes) == ["\(path): <redacted> -> <redacted>"], "\(old)")
            #expect(ValueChange.secrets(changes).description == "~\(path)", "\(old)")
            #expect(!String(reflecting: try route(old)).contains("hunter"))
        }
        // Only the file holds another one, and another place of the same one is no change.
        let changes = ValueChange.all(from: try route("file:/one"), to: try route("file:/one", ["/one": "another"]))
        #expect(ValueChange.secrets(changes).description == "~\(path)")
        for same in ["file:/one", "hunter5"] {
            #expect(try ValueChange.all(from: route("file:/one"), to: route(same)).isEmpty)
        }
        // Not a secret by its key.
        let plain = ["routes": "[{name: pub, path: '${PATH}', upstream: a, access: public}]"]
        let other = ["routes": "[{name: pub, path: /other, upstream: a, access: public}]"]
        let moved = ValueChange.all(
            from: try Self.values(plain, environment: environment), to: try Self.values(other))
        #expect(ValueChange.lines(moved) == ["routes[pub].path: <redacted> -> /other"])
        #expect(ValueChange.secrets(moved).description == "~routes[pub].path")
    }

    @Test("A file that is named for what it holds is told with its name, also where only its contents are others")
    func files() throws {
        func values(_ name: String, _ contents: String) throws -> [ReadValue] {
            let keys =
                #"{"keys":[{"kty":"EC","crv":"P-256","kid":"\#(contents)","alg":"ES256","#
                + #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
                + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#
            let issuers = "{o: {profile: oidc, issuer: i, audiences: [a], algorithms: [ES256], jwks_file: \(name)}}"
            return try Self.values(["issuers": issuers], files: [name: keys])
        }
        let path = "issuers.o.jwks_file"
        #expect(Self.lines(try values("/a", "1"), try values("/a", "2")) == ["\(path): /a -> /a (other contents)"])
        #expect(Self.lines(try values("/a", "1"), try values("/b", "1")) == ["\(path): /a -> /b"])
        #expect(Self.lines(try values("/a", "1"), try values("/a", "1")) == [])
        let changes = ValueChange.all(from: try values("/a", "1"), to: try values("/a", "2"))
        #expect(ValueChange.secrets(changes).isEmpty)
    }

    @Test("There are 50 lines at most, of values of 200 characters")
    func bounds() throws {
        func values(_ names: [String]) throws -> [ReadValue] {
            let list = names.joined(separator: ", ")
            return try Self.values(["issuers": "{users: {user_pool_id: us-east-1_P, client_ids: [\(list)]}}"])
        }
        let many = Self.lines(try values(["x"]), try values((0..<60).map { "n\($0)" } + ["x"]))
        #expect(many.count == 51 && many[49] == "issuers.users.client_ids: + n49" && many[50] == "and 10 more")
        let long = Self.lines(try values(["x"]), try values([String(repeating: "y", count: 250), "x"]))
        #expect(long == ["issuers.users.client_ids: + \(String(repeating: "y", count: 200))…"])
    }
}
