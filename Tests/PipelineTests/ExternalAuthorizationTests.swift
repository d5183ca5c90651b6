import HTTPTypes
import Pipeline
import Testing

@Suite("External authorization")
struct ExternalAuthorizationTests {
    private func authorization(_ proxy: ExternalAuthorization.Proxy) throws -> ExternalAuthorization {
        let networks = try (trusted: IPNetwork("10.0.0.0/8"), inFront: IPNetwork("192.0.2.0/24"))
        return try #require(
            ExternalAuthorization(proxy, trusted: [networks.trusted], inFront: [networks.inFront]))
    }

    private func question(
        _ fields: [(String, String)], method: HTTPRequest.Method = .get, path: String = "/ask"
    ) throws -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: "http", authority: "gatehouse.test", path: path)
        for (name, value) in fields {
            request.headerFields.append(
                HTTPField(name: try #require(HTTPField.Name(name)), lenientValue: Array(value.utf8)))
        }
        return request
    }

    private static let client = ("X-Forwarded-For", "203.0.113.9")
    private static let url = [
        ("X-Original-Method", "POST"), ("X-Original-URL", "https://api.test:8443/a%20b?x=1,2"), client,
    ]
    private static let forwarded = [
        ("X-Forwarded-Method", "POST"), ("X-Forwarded-Host", "api.test:8443"), ("X-Forwarded-Uri", "/a%20b?x=1,2"),
        client,
    ]

    @Test("Nobody is trusted unless named")
    func nobody() {
        #expect(ExternalAuthorization(.nginx, trusted: [], inFront: []) == nil)
    }

    @Test("nginx names the original by its URL")
    func nginx() throws {
        let asked = try question(Self.url + [("X-Forwarded-Proto", "http"), ("Cookie", "a=b")])
        let original = try authorization(.nginx).original(of: asked, peer: "10.0.0.1")
        #expect(original.method == .post && original.scheme == "https" && original.authority == "api.test:8443")
        #expect(original.path == "/a%20b?x=1,2")
        #expect(original.headerFields.map(\.name.rawName) == ["X-Forwarded-For", "Cookie"])
    }

    @Test("Traefik and Caddy name it by what they forward", arguments: [ExternalAuthorization.Proxy.traefik, .caddy])
    func forwarded(proxy: ExternalAuthorization.Proxy) throws {
        let asked = try question(Self.forwarded + [("X-Forwarded-Proto", "https")])
        let original = try authorization(proxy).original(of: asked, peer: "10.0.0.1")
        #expect(original.method == .post && original.authority == "api.test:8443" && original.path == "/a%20b?x=1,2")
        #expect(original.headerFields.map(\.name.rawName) == ["X-Forwarded-For", "X-Forwarded-Proto"])
    }

    @Test("Envoy's question is the original, whatever else it says")
    func envoy() throws {
        let asked = try question(Self.url + Self.forwarded, method: .put, path: "/x?y")
        let original = try authorization(.envoy).original(of: asked, peer: "10.0.0.1")
        #expect(original == asked)
    }

    @Test(
        "Only those may ask that are named, not those in front of them",
        arguments: ["192.0.2.1", "203.0.113.9", "-", ""])
    func peers(peer: String) throws {
        let (asking, asked) = (try authorization(.nginx), try question(Self.url))
        let refusal = #expect(throws: Refusal.self) { try asking.original(of: asked, peer: peer) }
        #expect(refusal?.reason == .request(.proxyNotTrusted))
    }

    @Test("Each proxy's own way counts alone")
    func otherWays() throws {
        let ways: [(ExternalAuthorization.Proxy, [(String, String)])] = [
            (.nginx, Self.forwarded), (.traefik, Self.url), (.caddy, Self.url),
        ]
        for (proxy, fields) in ways {
            let (asking, asked) = (try authorization(proxy), try question(fields))
            #expect(throws: Refusal.self) { try asking.original(of: asked, peer: "10.0.0.1") }
        }
    }

    @Test("The opening of a WebSocket is one without its Upgrade")
    func webSocket() throws {
        for name in ["Sec-WebSocket-Key", "Sec-WebSocket-Version"] {
            let asked = try question(Self.url + [(name, "x")])
            let original = try authorization(.nginx).original(of: asked, peer: "10.0.0.1")
            #expect(original.extendedConnectProtocol == "websocket")
        }
    }

    @Test(
        "nginx hears 401 or 403 of what the client did, others hear all",
        arguments: [
            (GatewayError.notAuthorized, 401), (.accessDenied, 403), (.notFound, 403), (.badRequest, 403),
            (.tooManyRequests, 403), (.methodNotAllowed, 403), (.uriTooLong, 403), (.serviceUnavailable, 503),
            (.internalFailure, 500),
        ])
    func statuses(error: GatewayError, nginx: Int) throws {
        let refusal = Refusal(error, reason: .request(.noRoute))
        #expect(try authorization(.nginx).answer(refusal).error.statusCode == nginx)
        #expect(try authorization(.nginx).answer(refusal).reason == .request(.noRoute))
        for proxy in [ExternalAuthorization.Proxy.traefik, .caddy, .envoy] {
            #expect(try authorization(proxy).answer(refusal).error == error)
        }
    }

    @Test("Caddy gets every header of an identity, others those that there are")
    func absentFields() throws {
        let names = try ["X-Auth-Subject", "X-Auth-Email"].map { try #require(HTTPField.Name($0)) }
        let identity: HTTPFields = [names[0]: "user"]
        #expect(try authorization(.caddy).answer(identity, names: names) == [names[0]: "user", names[1]: ""])
        for proxy in [ExternalAuthorization.Proxy.nginx, .traefik, .envoy] {
            #expect(try authorization(proxy).answer(identity, names: names) == identity)
        }
    }
}
