import Encoding
import HTTPTypes
import Pipeline
import Testing

@Suite("Gate: policy")
struct GatePolicyTests {
    static let subject = GateTests.subject

    let tokens: VerifyFixture
    let gate: Gate
    let cache = TokenCache()

    init() throws {
        tokens = try VerifyFixture()
        let tenant = ClaimCondition(ClaimPath(["custom:tenant"]), .oneOf(["acme"]))
        let requirements: [(String, String, Access, Requirements?)] = [
            ("plain", "/plain", .required, nil),
            (
                "read", "/read", .required,
                Requirements(allScopes: ["openid", "orders/read"], anyScope: ["email", "x", "openid"])
            ),
            ("staff", "/staff", .required, Requirements(anyGroup: ["staff", "admin"])),
            ("staff-again", "/staff-again", .required, Requirements(anyGroup: ["staff", "admin"])),
            ("admin", "/admin", .optional, Requirements(anyGroup: ["admin"])),
            ("tenant", "/tenant", .required, Requirements(claims: [tenant])),
            ("mail", "/mail", .required, Requirements(emailVerified: true)),
            ("recent", "/recent", .required, Requirements(anyGroup: ["staff"], maximumAge: 2_000)),
            ("own", "/users/{sub}/**", .required, nil),
        ]
        let routes = try requirements.map { name, path, access, requirements in
            Route(
                name: name, pattern: try RoutePattern(path), access: access, requirements: requirements,
                destination: GateFixture.backend)
        }
        gate = Gate(routes: try RouteTable(routes), verifier: TokenVerifier(issuers: [VerifyFixture.pool]))
    }

    func outcome(
        _ path: String, claims: JSONObject? = VerifyFixture.accessClaims, now: Int64 = VerifyFixture.now
    ) throws -> Outcome {
        let fields = try claims.map { Credential.bearer(try tokens.token(claims: $0)) } ?? []
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: now)
        let decision = gate.decide(
            try GateFixture.request(path, fields), context, cache: cache, keySets: [tokens.keySet])
        return Outcome(decision, gate)
    }

    static func forwarded(_ route: String, _ target: String, subject: String? = subject) -> Outcome {
        GateTests.forwarded(route, target: target, subject: subject)
    }

    static func denied(_ denial: PolicyDenial, _ route: String, challenge: String? = nil) -> Outcome {
        .refuse(
            403, .accessDenied, reason: denial.rawValue, route: route,
            headers: challenge.map { [.wwwAuthenticate: $0] } ?? [:])
    }

    @Test("What meets a route's requirements passes, when it is first seen and from the cache")
    func passes() throws {
        let claims = VerifyFixture.accessClaims.with("scope", "openid email orders/read").with("custom:tenant", "acme")
            .with("email_verified", true)
        for _ in 0..<2 {
            for route in ["plain", "read", "staff", "staff-again", "tenant", "mail", "recent"] {
                #expect(try outcome("/\(route)", claims: claims) == Self.forwarded(route, "/\(route)"), "\(route)")
            }
        }
        #expect(cache.missCount == 1)
        #expect(cache.hitCount == 13)
    }

    @Test("What a token lacks for one route it lacks there from the cache as well, whatever it met before")
    func refuses() throws {
        for _ in 0..<2 {
            #expect(try outcome("/staff") == Self.forwarded("staff", "/staff"))
            #expect(try outcome("/tenant") == Self.denied(.claimMismatch, "tenant"))
            #expect(try outcome("/mail") == Self.denied(.emailNotVerified, "mail"))
            #expect(try outcome("/admin") == Self.denied(.groupMissing, "admin"))
            #expect(try outcome("/plain") == Self.forwarded("plain", "/plain"))
        }
        #expect(cache.missCount == 1)
    }

    @Test("A missing scope is named with all that is needed (RFC 6750 §3)")
    func missingScope() throws {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"openid orders/read email x\""
        #expect(try outcome("/read") == Self.denied(.insufficientScope, "read", challenge: challenge))
    }

    @Test("A sign-in that was too long ago is 401 with the age that would do (RFC 9470), also from the cache")
    func maximumAge() throws {
        // auth_time is a thousand seconds before.
        #expect(try outcome("/recent", now: VerifyFixture.now + 1_000) == Self.forwarded("recent", "/recent"))
        let challenge = "Bearer error=\"insufficient_user_authentication\", max_age=\"2000\""
        let refused = Outcome.unauthorized(
            PolicyDenial.authenticationTooOld.rawValue, route: "recent", challenge: challenge)
        #expect(try outcome("/recent", now: VerifyFixture.now + 1_001) == refused)
        #expect(cache.missCount == 1)
    }

    @Test("On an optional route nobody needs a token, and one that is there must meet the requirements")
    func optional() throws {
        #expect(try outcome("/admin", claims: nil) == Self.forwarded("admin", "/admin", subject: nil))
        let admin = VerifyFixture.accessClaims.with("cognito:groups", ["admin"])
        #expect(try outcome("/admin", claims: admin) == Self.forwarded("admin", "/admin"))
        #expect(try outcome("/admin") == Self.denied(.groupMissing, "admin"))
    }

    @Test("A token that meets one route's requirements has not met those that two others share")
    func sharedRequirements() throws {
        let required = [["staff"], ["root"], ["root"]].map { Requirements(anyGroup: $0) }
        let routes = try required.indices.map { index in
            Route(
                name: "\(index)", pattern: try RoutePattern("/\(index)"), access: .required,
                requirements: required[index], destination: GateFixture.backend)
        }
        let gate = Gate(routes: try RouteTable(routes), verifier: TokenVerifier(issuers: [VerifyFixture.pool]))
        let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now)
        let fields = Credential.bearer(try tokens.token())
        for (path, isMet) in [("/0", true), ("/1", false), ("/2", false), ("/0", true), ("/2", false)] {
            let request = try GateFixture.request(path, fields)
            let decision = gate.decide(request, context, cache: cache, keySets: [tokens.keySet])
            let name = String(path.dropFirst())
            #expect(Outcome(decision, gate) == (isMet ? Self.forwarded(name, path) : Self.denied(.groupMissing, name)))
        }
    }

    @Test("Equal requirements are looked at once for a token")
    func numbering() {
        #expect(gate.requirements.count == 7)
        #expect(
            gate.requirements.first
                == Requirements(allScopes: ["openid", "orders/read"], anyScope: ["email", "x", "openid"]))
    }

    @Test("A header of a configured claim is the gateway's own on every route and in every spelling")
    func claimHeaders() throws {
        let routes = [("public", Access.public), ("required", .required)]
        let gate = Gate(
            routes: try RouteTable(
                routes.map { name, access in
                    Route(
                        name: name, pattern: try RoutePattern("/\(name)"), access: access,
                        destination: GateFixture.backend)
                }), verifier: TokenVerifier(issuers: [VerifyFixture.pool]),
            identityClaims: [IdentityClaim(header: "X-Tenant", claim: ClaimPath(["custom:tenant"]))])
        let token = try tokens.token(claims: VerifyFixture.accessClaims.with("custom:tenant", "acme"))
        let spoofed = ["X-Tenant", "x-tenant", "X_Tenant", "x.TENANT"].map { ($0, "evil") }
        for (name, access) in routes {
            let request = try GateFixture.request("/\(name)", Credential.bearer(token) + spoofed)
            let trace = try #require(TraceContext(parsing: GateFixture.traceparent))
            let context = RequestContext(
                peer: GateFixture.peer, scheme: "https", requestID: "id-1", trace: trace, now: VerifyFixture.now)
            guard case .forward(let permit) = gate.decide(request, context, cache: cache, keySets: [tokens.keySet])
            else {
                Issue.record("\(name) was refused")
                continue
            }
            let passed = request.headerFields.filter { permit.passes($0) }.map(\.name.canonicalName)
            #expect(!passed.contains { $0.hasSuffix("tenant") }, "\(name)")
            let lines = String(decoding: permit.lines, as: UTF8.self)
            #expect(lines.contains("X-Tenant: acme\r\n") == (access == .required), "\(name)")
        }
    }

    // MARK: The subject in the path

    @Test(
        "A path with a subject is for that subject alone",
        arguments: [
            "/users/\(subject)", "/users/\(subject)/", "/users/\(subject)/photos?user=x",
            "/users/%36f1c2a4e-0000-4000-8000-1234567890ab/a",
        ])
    func ownPath(path: String) throws {
        for _ in 0..<2 { #expect(try outcome(path) == Self.forwarded("own", path)) }
    }

    @Test(
        "Another's path, and one that could be read as another's, is refused",
        arguments: [
            "/users/somebody-else", "/users/somebody-else/\(subject)", "/users/\(subject.uppercased())",
            "/users/\(subject)x", "/users/\(subject.dropLast())", "/users/\(subject);a=b/photos",
            "/users/\(subject)%3Fa/photos", "/users/\(subject)%0A", "/users/x;\(subject)/photos",
            "/users/%EF%BC%96f1c2a4e-0000-4000-8000-1234567890ab",
        ])
    func othersPath(path: String) throws {
        for _ in 0..<2 { #expect(try outcome(path) == Self.denied(.subjectMismatch, "own")) }
    }

    @Test("A subject that no segment can hold has no path of its own")
    func separators() throws {
        let claims = VerifyFixture.accessClaims.with("sub", "a/b")
        #expect(try outcome("/users/a/b", claims: claims) == Self.denied(.subjectMismatch, "own"))
        // Backends that drop parameters read `a`.
        let parameter = VerifyFixture.accessClaims.with("sub", "a;b")
        #expect(try outcome("/users/a;b", claims: parameter) == Self.denied(.subjectMismatch, "own"))
        let percent = VerifyFixture.accessClaims.with("sub", "%41")
        #expect(try outcome("/users/A", claims: percent) == Self.denied(.subjectMismatch, "own"))
    }

    @Test("A subject in other Unicode form is another one")
    func normalisation() throws {
        let claims = VerifyFixture.accessClaims.with("sub", "caf\u{e9}")
        #expect(try outcome("/users/cafe%CC%81", claims: claims) == Self.denied(.subjectMismatch, "own"))
        #expect(
            try outcome("/users/caf%C3%A9", claims: claims)
                == Self.forwarded("own", "/users/caf%C3%A9", subject: "caf\u{e9}"))
    }

    @Test("{sub} stands where * does: once, as a whole segment, and both are one pattern")
    func patterns() throws {
        #expect(throws: RouteError.self) { try RoutePattern("/{sub}/{sub}") }
        let route = { (name: String, path: String, methods: Set<HTTPRequest.Method>) in
            Route(
                name: name, pattern: try RoutePattern(path), methods: methods, access: .required,
                destination: GateFixture.backend)
        }
        #expect(throws: RouteError.self) {
            try RouteTable([try route("a", "/u/*", [.get]), try route("b", "/u/{sub}", [.get])])
        }
        let table = try RouteTable([try route("a", "/u/*", [.get]), try route("b", "/u/{sub}", [.put])])
        let path = try RequestPath.parse("/u/x")
        #expect(table.match(method: .get, path: path) == .route(index: 0))
        #expect(table.match(method: .put, path: path) == .route(index: 1))
    }
}
