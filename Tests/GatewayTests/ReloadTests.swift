import Cryptography
import Encoding
import Pipeline
import SettingsReader
import Testing

@testable import Admin
@testable import Gateway
@testable import Settings
@testable import Upstream

@Suite("Reloading")
struct ReloadTests {
    @Test(
        "Addresses that stay keep their places; those with port 0 are told apart by their order",
        arguments: [
            (["a:1"], ["a:1"], [0], []), (["a:1"], ["b:1", "a:1"], [nil, 0], []), (["a:1", "b:1"], ["b:1"], [1], [0]),
            (["a:1"], ["a:2"], [nil], [0]), (["a:0", "a:0"], ["a:0", "a:0", "a:0"], [0, 1, nil], []),
            (["a:0", "a:0"], ["a:0"], [0], [1]), (["a:1", "b:1", "c:1"], ["c:1", "d:1", "a:1"], [2, nil, 0], [1]),
        ] as [([String], [String], [Int?], [Int])])
    func listeners(old: [String], new: [String], known: [Int?], removed: [Int]) {
        let changes = ListenerChanges(from: old.map(Self.address), to: new.map(Self.address))
        #expect(changes.known == known)
        #expect(changes.removed == removed)
    }

    static func address(_ text: String) -> HostAndPort {
        HostAndPort(host: String(text.prefix(1)), port: Int(text.dropFirst(2)) ?? -1)
    }

    static func settings(_ lines: String...) throws -> GatewaySettings {
        let yaml = """
            listeners: [{address: '127.0.0.1:8080'}]
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            routes: [{path: /a, upstream: api, access: public}]
            \(lines.joined(separator: "\n"))
            """
        return try GatewaySettings.load(path: "/settings.yaml", environment: [:]) { (_) throws(FileReadFailure) in
            Array(yaml.utf8)
        }
    }

    @Test(
        "What holds for the life of a process is named with both its values, and nothing else is",
        arguments: [
            ("", "drain_timeout: 1s", []), ("", "threads: 4", []), ("threads: 2", "threads: 3", ["threads"]),
            ("", "threads: 2", ["threads"]), ("threads: 4", "threads: 0", []),
            ("", "admin: {address: '127.0.0.1:9902'}", ["admin.address"]),
            ("", "admin: {address: '127.0.0.1:9901'}", []), ("", "state_directory: /elsewhere", ["state_directory"]),
            ("", "threads: 1\nstate_directory: x", ["threads", "state_directory"]), (state(), state(), []),
            ("", state(), ["state"]), (state(), "", ["state"]), (state(), state("pool_size: 9"), ["state"]),
            (state(), state("stale_revocations: {after: 1h, then: open}"), []),
            (state(), state("pool_size: 9, stale_revocations: {then: open}"), ["state"]),
        ] as [(String, String, [String])])
    func restart(old: String, new: String, keys: [String]) throws {
        let changes = RestartSettings.changes(from: try Self.settings(old), to: try Self.settings(new), cores: 4)
        #expect(Set(changes.map(\.keyPath)) == Set(keys))
        #expect(changes.map(\.file).allSatisfy { $0 == "/settings.yaml" })
        let lines = new.split(separator: "\n").map { String($0.prefix { $0 != ":" }) }
        for change in changes {
            let top = String(change.keyPath.prefix { $0 != "." })
            // Values that the file leaves out are reported at its beginning.
            #expect(change.line == (lines.firstIndex(of: top).map { $0 + 4 } ?? 1))
        }
    }

    static func state(_ more: String = "") -> String {
        let key = "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        return "state: {postgres: {url: 'postgresql://gate@db/gatehouse', sealing_keys: ['\(key)'], \(more)}}"
    }

    @Test(
        "The summary names what came, went and is different, and not what only moved",
        arguments: [
            (["a": 1], ["a"], ["a": 1], ["a"], ""), ([:], [], ["a": 1], ["a"], "+a"), (["a": 1], ["a"], [:], [], "-a"),
            (["a": 1], ["a"], ["a": 2], ["a"], "~a"),
            (["a": 1, "b": 2], ["a", "b"], ["a": 1, "b": 2], ["b", "a"], ""),
            (["a": 1, "b": 2, "c": 3], ["a", "b", "c"], ["b": 0, "d": 4], ["d", "b"], "+d -a -c ~b"),
        ] as [([String: Int], [String], [String: Int], [String], String)])
    func summary(old: [String: Int], oldOrder: [String], new: [String: Int], newOrder: [String], expected: String) {
        let part = ReloadSummary.Part(
            from: oldOrder.map { ($0, old[$0]) }, to: newOrder.map { ($0, new[$0]) })
        #expect(part.description == expected)
    }

    @Test(
        "A secret that is another one is named by its key path, and its value is nowhere",
        arguments: [
            ("one", "one", ""), ("one", "two", "~admin.token"), ("", "one", "+admin.token"),
            ("one", "", "-admin.token"),
        ])
    func secrets(old: String, new: String, expected: String) throws {
        func values(_ token: String) throws -> [ReadValue] {
            let line = token.isEmpty ? "" : "admin: {token: '\(token)-is-a-token-of-some-length'}"
            return try Self.settings(line).values
        }
        let changes = ValueChange.all(from: try values(old), to: try values(new))
        #expect(ValueChange.secrets(changes).description == expected)
        #expect(!ValueChange.lines(changes).contains { $0.contains("is-a-token") })
    }

    @Test(
        "A section is changed by its values: not by the order of its keys, nor by another secret",
        arguments: [
            ("limits: {connections: 700}", "limits: {connections: 800}", ["limits"]),
            ("", "drain_timeout: 1s", ["drain_timeout"]), ("trusted_proxies: [10.0.0.0/8]", "", ["trusted_proxies"]),
            (
                "trusted_proxies: [10.0.0.0/8, 11.0.0.0/8]", "trusted_proxies: [11.0.0.0/8, 10.0.0.0/8]",
                ["trusted_proxies"]
            ),
            (apple(roles: 0..<40), apple(roles: (0..<40).reversed()), []),
            (apple(roles: 0..<40), apple(roles: 0..<40, one: "other"), ["sign_in"]),
            (webhook(secret: "one"), webhook(secret: "two"), []), ("", webhook(secret: "one"), ["audit"]),
        ] as [(String, String, [String])])
    func sections(old: String, new: String, expected: [String]) throws {
        let changes = ValueChange.all(from: try Self.settings(old).values, to: try Self.settings(new).values)
        #expect(ReloadSummary.sections(changes) == expected)
    }

    static func apple(roles: some Sequence<Int>, one: String = "role0") -> String {
        let roles = roles.map { "com.example.app\($0): \($0 == 0 ? one : "role\($0)")" }.joined(separator: ", ")
        let apps = (0..<40).map { "com.example.app\($0)" }.joined(separator: ", ")
        return """
            issuers:
              apple: {profile: apple, audiences: [\(apps)]}
              own: {profile: gatehouse, issuer: 'https://gateway.example', audiences: [api], own_keys: true}
            sign_in: {apple: {issuer: apple, roles: {\(roles)}, session: {issuer: own}}}
            """
    }

    static func webhook(secret: String) -> String {
        "audit: {webhook: {url: 'https://events.example/', secret: '\(secret)-is-a-secret-of-some-length-indeed'}}"
    }

    @Test("What is asked for while a reload is under way is one more, however often")
    func coalescing() async {
        let requests = ReloadRequests()
        var reloads = 0
        for _ in 0..<100 { requests.ask() }
        await requests.serve {
            reloads += 1
            if reloads == 1 { for _ in 0..<100 { requests.ask() } }
            if reloads == 2 { requests.finish() }
            return .applied([], differences: [])
        }
        #expect(reloads == 2)
    }

    @Test("Who waits for a reload hears what came of one that began later, or that there will be none")
    func waiting() async {
        let requests = ReloadRequests()
        let serving = Task {
            await requests.serve { .refused(["a fault"]) }
        }
        guard case .refused(["a fault"]) = await requests.askAndWait() else {
            Issue.record("the outcome is not the reload's")
            return
        }
        requests.finish()
        await serving.value
        guard case .stopping = await requests.askAndWait() else {
            Issue.record("there is an outcome without a reload")
            return
        }
    }

    @Test("Whoever waits for a reload is not forgotten over a look at files that begins meanwhile")
    func waitingBesideLooks() async {
        let requests = ReloadRequests()
        let serving = Task { await requests.serve { .refused([]) } }
        let looks = (0..<4).map { _ in Task { await requests.askForLooks(every: .zero) } }
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        Task {
            for _ in 0..<500 { _ = await requests.askAndWait() }
            end.yield(true)
        }
        let limit = Task {
            try await Task.sleep(for: .seconds(120))
            end.yield(false)
        }
        var iterator = ends.makeAsyncIterator()
        let isAnswered = await iterator.next()
        #expect(isAnswered == true, "somebody still waits after 120 s")
        limit.cancel()
        for look in looks { look.cancel() }
        requests.finish()
        await serving.value
        for look in looks { await look.value }
    }

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARWgAwIBAgIUY6BvJP38aCectQBz79RFFdyvES0wCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjEyMjMwMTdaGA8yMTI2MTAyODIyMzAxN1ow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAGoYWR1cjBK
        RgVzaNF3EUhX3+WAEuifu0B48Rb8hpTREiAqniy9+gBvKXaq8wvBm87ABPOmd3Lj
        p4Uls487aw2jUzBRMB0GA1UdDgQWBBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAfBgNV
        HSMEGDAWgBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0cAMEQCIChdnBv0B7PD9dyH4l/t7nN9FEEggW27jfiUc4jY/MDu
        AiAR1pXf3mbbwfXb9ey7GkWrbfdwETAyIGmmOEe+w9BQFw==
        -----END CERTIFICATE-----
        """

    @Test("Upstreams differ by what they say and by what the files they name hold, not by where they stand")
    func upstreams() throws {
        func upstream(_ yaml: String, _ file: String = Self.certificate) throws -> UpstreamSettings {
            let text = """
                listeners: [{address: '127.0.0.1:8080'}]
                upstreams:
                \(yaml)
                routes: [{path: /a, upstream: api, access: public}]
                """
            let settings = try GatewaySettings.load(path: "/settings.yaml", environment: [:]) {
                (path) throws(FileReadFailure) in Array((path == "/settings.yaml" ? text : file).utf8)
            }
            return try #require(settings.upstreams.last?.upstream)
        }
        let api = "  api: {url: 'https://127.0.0.1:8000', tls: {ca: ca.pem}}"
        #expect(try upstream(api) == upstream("  other: {url: 'http://h:1'}\n" + api))
        #expect(try upstream(api) != upstream(api, "# another\n" + Self.certificate))
        #expect(try upstream(api) != upstream("  api: {url: 'https://127.0.0.1:8000'}"))
        #expect(try upstream(api) != upstream("  api: {url: 'https://127.0.0.1:8001', tls: {ca: ca.pem}}"))
    }

    @Test("Routes differ by what they do")
    func routes() throws {
        func route(_ line: String) throws -> Route {
            let settings = try StartTests.settings(routes: line)
            return try #require(Wiring.gate(settings, issuers: settings.trustedIssuers).routes.routes.last)
        }
        let plain = try route("  - {path: /a, upstream: api}")
        #expect(try plain == route("\n  - {upstream: api, path: /a}"))
        for other in [
            "access: public", "methods: [GET]", "forward_token: true", "body_limit: 1KiB", "add_prefix: /v2",
            "cors: {origins: ['https://a.example']}", "request_headers: {add: {X-Key: '${SECRET}'}}",
            "response_headers: {remove: [Server]}", "name: b",
        ] {
            #expect(try plain != route("  - {path: /a, upstream: api, \(other)}"), "\(other)")
        }
        let key = "  - {path: /a, upstream: api, request_headers: {add: {X-Key: a}}}"
        #expect(try route(key) == route(key))
        #expect(try route(key) != route(key.replacing("X-Key: a", with: "X-Key: b")))
    }
}
