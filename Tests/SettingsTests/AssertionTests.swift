import Pipeline
import SettingsReader
import Testing

@testable import Settings

@Suite("identity.assertion")
struct AssertionTests {
    static func yaml(_ assertion: String, more: String = "", route: String = "") -> String {
        """
        listeners: [{address: 127.0.0.1:8080}]
        upstreams: {api: {url: "http://127.0.0.1:8000"}, orders: {url: "http://127.0.0.1:8001"}}
        identity: {assertion: {\(assertion)}\(more)}
        routes: [{path: /a, upstream: api, access: public\(route)}]
        """
    }

    @Test("Left out there is none; with an issuer alone everything else has its default")
    func defaults() throws {
        let none = try load(Self.yaml("issuer: g").replacing("assertion: {issuer: g}", with: ""))
        #expect(none.identity.assertion == nil)
        let settings = try #require(load(Self.yaml("issuer: 'https://api.example.com'")).identity.assertion)
        #expect(settings.assertion == Assertion(header: "X-Auth-Assertion", issuer: "https://api.example.com"))
        #expect(settings.assertion.lifetime == 60)
        #expect(settings.rotateEvery == .seconds(30 * 86_400) && settings.publishAhead == .seconds(3600))
    }

    @Test("Everything can be set, and the configured claims are told as well")
    func everything() throws {
        let yaml = Self.yaml(
            "issuer: g, header: X-Proof, audiences: {orders: 'https://orders'}, lifetime: 5m, rotate_every: 2h, "
                + "publish_ahead: 10m", more: ", claims: {X-Tenant: tenant}")
        let settings = try #require(load(yaml).identity.assertion)
        #expect(
            settings.assertion
                == Assertion(
                    header: "X-Proof", issuer: "g", audiences: ["orders": "https://orders"], lifetime: 300,
                    claims: [IdentityClaim(header: "X-Tenant", claim: ClaimPath(["tenant"]))]))
        #expect(settings.rotateEvery == .seconds(7200) && settings.publishAhead == .seconds(600))
    }

    static let faulty: [(assertion: String, more: String, route: String, message: String)] = [
        ("", "", "", "identity.assertion.issuer: is missing"),
        ("issuer: ''", "", "", "must be 1 to 256 visible"),
        ("issuer: g, header: X-Auth-Subject", "", "", "has another use"),
        ("issuer: g, header: x_auth_subject", "", "", "must be 1 to 64 letters"),
        ("issuer: g, header: Authorization", "", "", "has another use"),
        ("issuer: g, header: Host", "", "", "has another use"),
        ("issuer: g, header: \"X-A\\r\\nB\"", "", "", "must be 1 to 64 letters"),
        ("issuer: g", ", claims: {X-Auth-Assertion: a}", "", "is the header of a claim as well"),
        ("issuer: g, header: X-Tenant", ", claims: {x-tenant: a}", "", "is the header of a claim as well"),
        ("issuer: g, audiences: {other: a}", "", "", "names no upstream"),
        ("issuer: g, audiences: {api: ''}", "", "", "must be 1 to 256 visible"),
        ("issuer: g, lifetime: 9s", "", "", "from 10s to 10m"),
        ("issuer: g, lifetime: 11m", "", "", "from 10s to 10m"),
        ("issuer: g, publish_ahead: 1m", "", "", "from 10m to 7d"),
        ("issuer: g, rotate_every: 1h, publish_ahead: 2h", "", "", "must not be shorter than publish_ahead"),
        ("issuer: g, header: X-Proof", "", ", request_headers: {add: {x-proof: forged}}", "gateway's own"),
        ("issuer: g", "", ", request_headers: {remove: [X-Auth-Assertion]}", "gateway's own"),
        ("issuer: g, lifetme: 9s", "", "", "did you mean \"lifetime\"?"),
    ]

    @Test("What is wrong is told where it stands", arguments: faulty)
    func errors(assertion: String, more: String, route: String, message: String) {
        let error = #expect(throws: SettingsErrors.self) {
            try load(Self.yaml(assertion, more: more, route: route))
        }
        #expect(error.map { "\($0)".contains(message) } == true, "\(String(describing: error))")
    }
}
