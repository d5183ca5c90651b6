import Encoding
import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Attributes of users that access tokens do not have")
struct GateUserAttributeTests {
    static let wanted = ["email", "email_verified", "custom:plan"]
    static let values = ["email": "ada@example.com", "email_verified": "true", "custom:plan": "gold"]
    static let scoped = VerifyFixture.accessClaims.with("scope", "openid aws.cognito.signin.user.admin")

    let tokens: VerifyFixture
    let cache = TokenCache()

    init() throws { tokens = try VerifyFixture() }

    /// - Parameter issuer: nil for a gateway without the setting.
    private func gate(failsOpen: Bool = false, issuer: String? = "pool") throws -> Gate {
        let requirements = Requirements(emailVerified: true)
        let gold = Requirements(
            claims: [ClaimCondition(ClaimPath(["custom:plan"]), .oneOf(["gold"]))])
        return Gate(
            routes: try RouteTable([
                Route(
                    name: "required", pattern: try RoutePattern("/required"), access: .required,
                    tokenUses: [.access, .id],
                    destination: GateFixture.backend),
                Route(
                    name: "verified", pattern: try RoutePattern("/verified"), access: .required,
                    requirements: requirements, destination: GateFixture.backend),
                Route(
                    name: "gold", pattern: try RoutePattern("/gold"), access: .required, requirements: gold,
                    destination: GateFixture.backend),
                Route(name: "me", pattern: try RoutePattern("/me"), access: .required, destination: .endpoint(0)),
            ]), verifier: TokenVerifier(issuers: [VerifyFixture.pool, VerifyFixture.otherPool]),
            identityClaims: [IdentityClaim(header: "X-Auth-Plan", claim: ClaimPath(["custom:plan"]))],
            userAttributes: issuer.map {
                UserAttributeRule(issuer: $0, attributes: Self.wanted, failsOpen: failsOpen)
            })
    }

    private func decide(
        _ gate: Gate, _ path: String, _ claims: JSONObject = scoped, attributes: UserAttributeAnswer? = nil
    ) throws -> (outcome: Outcome, lines: String) {
        let request = try GateFixture.request(path, Credential.bearer(try tokens.token(claims: claims)))
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now,
            keysWereLookedUp: true, userAttributes: attributes)
        let decision = gate.decide(
            request, context, cache: cache, keySets: [tokens.keySet, tokens.otherKeySet])
        switch consume decision {
        case .forward(let permit):
            let lines = String(decoding: permit.lines, as: UTF8.self)
            return (
                .forward(
                    route: gate.routes.routes[permit.routeIndex].name, upstream: "api", target: permit.target,
                    subject: permit.subject), lines
            )
        case let other: return (Outcome(other, gate), "")
        }
    }

    private func isForwarded(_ outcome: Outcome) -> Bool { if case .forward = outcome { true } else { false } }

    @Test("They are asked for once, and cached with the token")
    func once() throws {
        let gate = try gate()
        let token = try tokens.token(claims: Self.scoped)
        #expect(try decide(gate, "/required").outcome == .needsAttributes(token: token, issuer: "pool"))
        #expect(try decide(gate, "/required").outcome == .needsAttributes(token: token, issuer: "pool"))
        let first = try decide(gate, "/required", attributes: .found(Self.values))
        #expect(isForwarded(first.outcome))
        for line in ["X-Auth-Email: ada@example.com", "X-Auth-Email-Verified: true", "X-Auth-Plan: gold"] {
            #expect(first.lines.contains("\(line)\r\n"), "\(first.lines)")
        }
        #expect(try decide(gate, "/required").lines == first.lines)
        #expect(cache.count == 1)
    }

    @Test("Requirements hold for them")
    func requirements() throws {
        let gate = try gate()
        #expect(isForwarded(try decide(gate, "/verified", attributes: .found(Self.values)).outcome))
        #expect(isForwarded(try decide(gate, "/gold").outcome))
        cache.removeAll()
        let others = ["email": "ada@example.com", "email_verified": "TRUE", "custom:plan": "silver"]
        let unverified = try decide(gate, "/verified", attributes: .found(others)).outcome
        #expect(
            unverified == .refuse(403, .accessDenied, reason: "email-not-verified", route: "verified", headers: [:]))
        let silver = try decide(gate, "/gold", attributes: .found(others)).outcome
        #expect(silver == .refuse(403, .accessDenied, reason: "claim-mismatch", route: "gold", headers: [:]))
    }

    @Test("A token's own claims stay as they are, and nothing comes that was not asked for")
    func ownClaims() throws {
        let own = Self.scoped.with("email", "own@example.com")
        let values = Self.values.merging(["name": "Ada", "sub": "other", "scope": "all", "cognito:groups": "admin"]) {
            $1
        }
        let lines = try decide(try gate(), "/required", own, attributes: .found(values)).lines
        #expect(lines.contains("X-Auth-Email: own@example.com\r\n"))
        #expect(lines.contains("X-Auth-Subject: 6f1c2a4e-0000-4000-8000-1234567890ab\r\n"))
        #expect(lines.contains("X-Auth-Groups: beta,staff\r\n"))
        #expect(!lines.contains("Ada") && !lines.contains("X-Auth-Groups: admin"))
    }

    @Test(
        "An address is marked as not proven unless Cognito says otherwise, whether or not the mark was asked for",
        arguments: [([:], false), (["email_verified": "false"], false), (["email_verified": "true"], true)])
    func proof(flag: [String: String], isVerified: Bool) throws {
        let rule = UserAttributeRule(issuer: "pool", attributes: ["email"], failsOpen: false)
        #expect(rule.attributes == ["email", "email_verified"])
        let token = try #require(tokens.verified(try tokens.token(claims: Self.scoped)))
        let values = flag.merging(["email": "ada@example.com"]) { $1 }
        #expect(token.with(values, of: rule).emailVerified == isVerified)
        let own = try #require(
            tokens.verified(try tokens.token(claims: Self.scoped.with("email", "own@example.com"))))
        #expect(own.with(values, of: rule).emailVerified == nil)
    }

    @Test("Where they cannot be read, requests are refused, or go on without them as set", arguments: [false, true])
    func failures(failsOpen: Bool) throws {
        let gate = try gate(failsOpen: failsOpen)
        let result = try decide(gate, "/required", attributes: .unavailable)
        let refused = Outcome.refuse(
            503, .identityProviderUnavailable, reason: "attributes-unavailable", route: "required",
            headers: [.retryAfter: "5"])
        #expect(failsOpen ? isForwarded(result.outcome) : result.outcome == refused)
        #expect(!result.lines.contains("X-Auth-Email"))
        // They are asked for again, and nothing that needs them is allowed meanwhile.
        let token = try tokens.token(claims: Self.scoped)
        #expect(try decide(gate, "/required").outcome == .needsAttributes(token: token, issuer: "pool"))
        #expect(!isForwarded(try decide(gate, "/verified", attributes: .unavailable).outcome))
    }

    @Test("A token that Cognito takes no more is refused, however the rest is set", arguments: [false, true])
    func refused(failsOpen: Bool) throws {
        let outcome = try decide(try gate(failsOpen: failsOpen), "/required", attributes: .tokenRefused).outcome
        #expect(outcome == .unauthorized("token-revoked", route: "required"))
    }

    @Test("Cognito is not asked about a token without the scope for it", arguments: [false, true])
    func withoutScope(failsOpen: Bool) throws {
        let result = try decide(try gate(failsOpen: failsOpen), "/required", VerifyFixture.accessClaims)
        let challenge = #"Bearer error="insufficient_scope", scope="aws.cognito.signin.user.admin""#
        let refused = Outcome.refuse(
            403, .accessDenied, reason: "insufficient-scope", route: "required", headers: [.wwwAuthenticate: challenge])
        #expect(failsOpen ? isForwarded(result.outcome) : result.outcome == refused)
    }

    @Test("Nobody is asked for endpoints, ID tokens and other issuers")
    func others() throws {
        let endpoint = try decide(try gate(), "/me").outcome
        #expect(endpoint == .endpoint(0, route: "me", subject: "6f1c2a4e-0000-4000-8000-1234567890ab"))
        let token = try tokens.token(claims: Self.scoped)
        #expect(try decide(try gate(), "/required").outcome == .needsAttributes(token: token, issuer: "pool"))
        #expect(isForwarded(try decide(try gate(), "/required", VerifyFixture.idClaims).outcome))
        cache.removeAll()
        #expect(isForwarded(try decide(try gate(issuer: "other"), "/required").outcome))
    }

    @Test("Without the setting a token is complete once it is verified, and its first request goes on at once")
    func off() throws {
        let gate = try gate(issuer: nil)
        let first = try decide(gate, "/required")
        #expect(isForwarded(first.outcome))
        #expect(!first.lines.contains("X-Auth-Email") && !first.lines.contains("X-Auth-Plan"))
        #expect((cache.count, cache.missCount, cache.hitCount) == (1, 1, 0))
        #expect(try decide(gate, "/required").lines == first.lines)
        #expect((cache.count, cache.missCount, cache.hitCount) == (1, 1, 1))
        #expect(!isForwarded(try decide(gate, "/verified").outcome))
    }

    @Test("A subject's tokens are forgotten, and no others")
    func forgotten() throws {
        let gate = try gate(issuer: "other")
        for subject in ["a", "b", "a"] {
            _ = try decide(gate, "/required", Self.scoped.with("sub", .string(subject)).with("jti", "\(cache.count)"))
        }
        #expect(cache.count == 3)
        cache.removeAll(of: "a")
        #expect(cache.count == 1)
        _ = try decide(gate, "/required", Self.scoped.with("sub", "a"))
        #expect(cache.count == 2)
    }
}
