import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Testing

@Suite("Sign-ins that go on to a backend")
struct GateSignInTests {
    /// A gate whose only route is an endpoint that forwards some of its requests.
    static func gate(_ assertion: Assertion? = nil) throws -> Gate {
        var route = Route(
            name: "sign-in", pattern: try RoutePattern("/sign-in"), methods: [.post], access: .public,
            destination: .endpoint(0))
        route.forwardsTo = "users"
        return Gate(
            routes: try RouteTable([route]), verifier: TokenVerifier(issuers: [VerifyFixture.pool]),
            assertion: assertion)
    }

    /// As the verifier gives it.
    static func token() throws -> VerifiedToken {
        let fixture = try VerifyFixture()
        let text = try fixture.token(
            headerText: String(decoding: VerifyFixture.header.encoded(), as: UTF8.self),
            payloadText: String(decoding: VerifyFixture.idClaims.encoded(), as: UTF8.self))
        let verdict = TokenVerifier(issuers: [VerifyFixture.pool]).verify(
            Array(text.utf8), accepting: TokenAcceptance(tokenUses: [.id]), keys: { _ in fixture.keySet },
            now: VerifyFixture.now)
        guard case .verified(var token) = verdict else { throw Unverified() }
        token.groups = ["customer"]
        return token
    }

    struct Unverified: Error {}

    /// The header lines that a backend gets: the gateway's, then the client's that pass.
    static func lines(
        _ token: VerifiedToken?, _ fields: [(String, String)] = [], _ gate: Gate? = nil, key: AssertionKey? = nil,
        beginsTrace: Bool = false
    ) throws -> (added: String, passed: [String], subject: String?, target: String) {
        let request = try GateFixture.request("/sign-in?a=b", fields, method: .post)
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1",
            trace: try #require(TraceContext(parsing: GateFixture.traceparent)), now: VerifyFixture.now, hasBody: true,
            assertionKey: key, beginsTrace: beginsTrace)
        let permit = try (gate ?? self.gate()).permit(signIn: request, routeIndex: 0, context, token)
        let passed = request.headerFields.filter { permit.passes($0) }.map(\.name.rawName)
        return (String(decoding: permit.lines, as: UTF8.self), passed, permit.subject, permit.target)
    }

    static let hostile = [
        ("X-Auth-Subject", "forged"), ("X_Auth_Groups", "admin"), ("Authorization", "Bearer x"),
        ("Content-Type", "application/json"),
    ]

    @Test("The state of a trace goes on with that trace only", arguments: [false, true])
    func state(beginsTrace: Bool) throws {
        let sent = try Self.lines(nil, [("tracestate", "of=another")], beginsTrace: beginsTrace)
        #expect(sent.passed == (beginsTrace ? [] : ["tracestate"]))
    }

    @Test("A verified sign-in goes on with its identity and nobody else's")
    func verified() throws {
        let sent = try Self.lines(Self.token(), Self.hostile)
        #expect(sent.added.contains("X-Auth-Subject: 6f1c2a4e-0000-4000-8000-1234567890ab\r\n"))
        #expect(sent.added.contains("X-Auth-Groups: customer\r\n") && sent.added.contains("X-Request-Id: id-1\r\n"))
        #expect(sent.passed == ["Content-Type"])
        #expect(sent.subject == "6f1c2a4e-0000-4000-8000-1234567890ab" && sent.target == "/sign-in?a=b")
    }

    @Test("An unverified one goes on as nobody's")
    func unverified() throws {
        let sent = try Self.lines(nil, Self.hostile)
        #expect(!sent.added.lowercased().contains("x-auth") && sent.subject == nil)
        #expect(sent.passed == ["Authorization", "Content-Type"])
    }

    @Test("A token that no verifier has made goes nowhere")
    func madeUp() throws {
        let made = VerifiedToken(
            issuer: "i", issuerName: "n", subject: "s", tokenUse: .id, clientID: "c", expires: .max, keyID: "k")
        #expect(throws: Refusal.self) { try Self.lines(made) }
    }

    @Test("Its backend gets an assertion where backends do, or nothing")
    func assertion() throws {
        let gate = try Self.gate(Assertion(issuer: "https://gateway"))
        let key = AssertionKey(try P256SigningKey.generate())
        let sent = try Self.lines(Self.token(), [], gate, key: key)
        let line = try #require(sent.added.split(separator: "\r\n").first { $0.hasPrefix("X-Auth-Assertion: ") })
        let assertion = try #require(UnverifiedToken(Array(line.dropFirst(18).utf8)))
        #expect(assertion.payload?["aud"] == "users" && assertion.payload?["groups"] == ["customer"])
        #expect(throws: Refusal.self) { try Self.lines(Self.token(), [], gate) }
    }
}
