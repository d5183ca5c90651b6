import Encoding
import Pipeline
import Testing

@Suite("Gate: issuers of one iss")
struct GateNamesakeTests {
    @Test("What is remembered for one issuer does not decide for another of the same iss")
    func cached() throws {
        let tokens = try VerifyFixture()
        let issuers = ["a", "b"].map { name in
            Issuer(
                name: name, issuer: "https://appleid.apple.com", profile: .apple(audiences: ["app-\(name)"]),
                keySource: .url("https://keys.example"))
        }
        let routes = try ["a", "b"].map { name in
            Route(
                name: name, pattern: try RoutePattern("/\(name)"), access: .required, issuers: [name],
                tokenUses: [.id], destination: GateFixture.backend)
        }
        let gate = Gate(routes: try RouteTable(routes), verifier: TokenVerifier(issuers: issuers))
        let cache = TokenCache()
        func outcome(_ path: String, _ token: String) throws -> Outcome {
            let request = try GateFixture.request(path, [("Authorization", "Bearer \(token)")])
            let context = RequestContext(
                peer: GateFixture.peer, scheme: "https", requestID: "id-1",
                trace: try #require(TraceContext(parsing: GateFixture.traceparent)), now: VerifyFixture.now)
            return Outcome(
                gate.decide(request, context, cache: cache, keySets: [tokens.keySet, tokens.keySet]), gate)
        }
        var claims = VerifyProfileTests.apple
        claims["aud"] = ["app-a", "app-b"]
        let both = try tokens.token(claims: claims)
        for path in ["/a", "/b", "/a", "/a", "/b"] {
            guard case .forward(let route, _, _, _) = try outcome(path, both) else {
                Issue.record("\(path) is refused")
                return
            }
            #expect("/\(route)" == path)
        }
        claims["aud"] = "app-a"
        let one = try tokens.token(claims: claims)
        guard case .forward = try outcome("/a", one) else { throw VerifyProfileTests.Unverified(verdict: "one") }
        #expect(try outcome("/b", one) == .unauthorized("audience-not-allowed", route: "b"))
    }
}
