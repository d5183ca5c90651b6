import Encoding
import HTTPTypes
import Pipeline
import Testing

/// The contents of a request in the place of its token.
enum Credential: String, CaseIterable, CustomTestStringConvertible {
    case none, valid, expired, tampered, unknownIssuer, idToken, repeated, basic, schemeOnly, garbage

    var testDescription: String { rawValue }

    func fields(_ tokens: VerifyFixture) throws -> [(String, String)] {
        switch self {
        case .none: return []
        case .valid: return try Self.bearer(tokens.token())
        case .expired:
            return try Self.bearer(tokens.token(claims: VerifyFixture.accessClaims.with("exp", 1_779_999_000)))
        case .tampered:
            let parts = try tokens.token().split(separator: ".")
            let claims = VerifyFixture.accessClaims.with("sub", "somebody-else")
            return Self.bearer("\(parts[0]).\(Base64URL.encode(claims.encoded())).\(parts[2])")
        case .unknownIssuer:
            let claims = VerifyFixture.accessClaims.with("iss", "https://idp.example.net")
            return try Self.bearer(tokens.token(claims: claims))
        case .idToken: return try Self.bearer(tokens.token(claims: VerifyFixture.idClaims))
        case .repeated: return try Self.bearer(tokens.token()) + Self.bearer(tokens.token())
        case .basic: return [("Authorization", "Basic YWRhOmxvdmVsYWNl")]
        case .schemeOnly: return [("Authorization", "Bearer")]
        case .garbage: return Self.bearer("what")
        }
    }

    static func bearer(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }

    /// The refusal where the token counts; nil where there is none that could.
    func refusal(route: String) -> Outcome? {
        switch self {
        case .none, .valid, .basic, .schemeOnly: nil
        case .expired: .unauthorized("expired", .tokenExpired, route: route)
        case .tampered: .unauthorized("bad-signature", route: route)
        case .unknownIssuer: .unauthorized("unknown-issuer", route: route)
        case .idToken: .unauthorized("token-use-not-accepted", route: route)
        case .repeated: .refuse(400, .badRequest, reason: "repeated-authorization", route: route, headers: [:])
        case .garbage: .unauthorized("malformed-token", route: route)
        }
    }
}

@Suite("Gate: decisions")
struct GateTests {
    static let subject = "6f1c2a4e-0000-4000-8000-1234567890ab"
    let fixture: GateFixture

    init() throws { fixture = try GateFixture() }

    static func forwarded(_ route: String, target: String, subject: String? = nil) -> Outcome {
        .forward(route: route, upstream: "api", target: target, subject: subject)
    }

    @Test("A public route looks at no token", arguments: Credential.allCases)
    func publicAccess(credential: Credential) throws {
        let outcome = try fixture.outcome("/public/a?b=c", credential.fields(fixture.tokens))
        #expect(outcome == Self.forwarded("public", target: "/public/a?b=c"))
        #expect(fixture.cache.count == 0)
    }

    @Test("An optional route lets nobody pass with a token that does not count", arguments: Credential.allCases)
    func optionalAccess(credential: Credential) throws {
        let outcome = try fixture.outcome("/optional", credential.fields(fixture.tokens))
        let admitted = Self.forwarded(
            "optional", target: "/optional", subject: credential == .valid ? Self.subject : nil)
        #expect(outcome == credential.refusal(route: "optional") ?? admitted)
    }

    @Test("A required route lets only a valid token pass", arguments: Credential.allCases)
    func requiredAccess(credential: Credential) throws {
        let outcome = try fixture.outcome("/required", credential.fields(fixture.tokens))
        let expected: Outcome =
            if credential == .valid {
                Self.forwarded("required", target: "/required", subject: Self.subject)
            } else {
                credential.refusal(route: "required")
                    ?? .unauthorized("token-missing", route: "required", challenge: "Bearer")
            }
        #expect(outcome == expected)
    }

    @Test("An endpoint of the gateway's is decided like a route", arguments: Credential.allCases)
    func endpoints(credential: Credential) throws {
        let fields = try credential.fields(fixture.tokens)
        #expect(
            try fixture.outcome("/login", fields, method: .post) == .endpoint(0, route: "login", subject: nil))
        let me: Outcome =
            if credential == .valid {
                .endpoint(2, route: "me", subject: Self.subject)
            } else {
                credential.refusal(route: "me")
                    ?? .unauthorized("token-missing", route: "me", challenge: "Bearer")
            }
        #expect(try fixture.outcome("/me", fields) == me)
    }

    @Test("Where ended tokens are admitted, one that has expired is handed on as such", arguments: Credential.allCases)
    func endedTokens(credential: Credential) throws {
        let outcome = try fixture.outcome("/leave", credential.fields(fixture.tokens), method: .post)
        let subject = credential == .valid ? Self.subject : nil
        let ended = credential == .expired ? "expired" : nil
        let admitted = Outcome.endpoint(3, route: "leave", subject: subject, ended: ended)
        #expect(outcome == (credential == .expired ? admitted : credential.refusal(route: "leave") ?? admitted))
    }

    @Test("Where ended tokens are admitted, so is one that was revoked, and nowhere else")
    func revokedTokens() throws {
        let token = try Credential.valid.fields(fixture.tokens)
        let admitted = Outcome.endpoint(3, route: "leave", subject: nil, ended: "revoked: \(Self.subject)")
        for isCached in [false, true] {
            fixture.cache.removeAll()
            fixture.cache.revocations = .empty
            if isCached { _ = try fixture.outcome("/required", token) }
            fixture.cache.revocations = RevocationList.empty.adding([
                Revocation(
                    issuer: VerifyFixture.pool.issuer, .subject(Self.subject, before: .max),
                    endsAt: VerifyFixture.now + 10)
            ])
            #expect(try fixture.outcome("/leave", token, method: .post) == admitted, "cached: \(isCached)")
            #expect(try fixture.outcome("/optional", token) == .unauthorized("token-revoked", route: "optional"))
            let tabbed = token.map { ($0.0, $0.1.replacing(" ", with: "\t")) }
            #expect(try fixture.outcome("/optional", tabbed) == .unauthorized("token-revoked", route: "optional"))
        }
    }

    @Test("While the list of revocations is too old no token counts, cached or new, and none is called invalid")
    func oldRevocations() throws {
        let token = try Credential.valid.fields(fixture.tokens)
        let list = RevocationList.empty.adding([
            Revocation(issuer: "other", .tokenID("t"), endsAt: VerifyFixture.now + 10)
        ])
        for isCached in [false, true] {
            fixture.cache.removeAll()
            fixture.cache.revocations = list
            if isCached { _ = try fixture.outcome("/required", token) }
            fixture.cache.revocations = list.marked(tooOld: true)
            for _ in 0..<2 {
                for (path, method) in [("/required", HTTPRequest.Method.get), ("/optional", .get), ("/leave", .post)] {
                    let outcome = try fixture.outcome(path, token, method: method)
                    let refused = Outcome.refuse(
                        503, .serviceUnavailable, reason: "revocations-unavailable", route: String(path.dropFirst()),
                        headers: [.retryAfter: "5"])
                    #expect(outcome == refused, "\(path), cached: \(isCached)")
                }
            }
            let admitted = Self.forwarded("public", target: "/public/a")
            #expect(try fixture.outcome("/public/a", token) == admitted)
            #expect(try fixture.outcome("/optional") == Self.forwarded("optional", target: "/optional", subject: nil))
            fixture.cache.revocations = list.marked(tooOld: true).marked(tooOld: false)
            let again = Self.forwarded("required", target: "/required", subject: Self.subject)
            #expect(try fixture.outcome("/required", token) == again)
        }
    }

    @Test(
        "What no route names is not found, whoever asks",
        arguments: ["/", "/nowhere", "/required/below", "/Required", "/publicx", "/required;a"])
    func notFound(path: String) throws {
        let outcome = try fixture.outcome(path, Credential.valid.fields(fixture.tokens))
        #expect(outcome == .refuse(404, .notFound, reason: "no-route", route: nil, headers: [:]))
    }

    @Test(
        "A method that the route lacks is refused with those it has",
        arguments: [
            ("/reading", HTTPRequest.Method.post, "GET, HEAD"), ("/reading", .delete, "GET, HEAD"),
            ("/reading", .trace, "GET, HEAD"), ("/login", .get, "POST"),
        ])
    func methods(path: String, method: HTTPRequest.Method, allow: String) throws {
        let expected = Outcome.refuse(
            405, .methodNotAllowed, reason: "method-not-allowed", route: nil, headers: [.allow: allow])
        #expect(try fixture.outcome(path, method: method) == expected)
    }

    @Test("What asks for a WebSocket takes the way of its own method, and only an extended CONNECT that of GET")
    func upgrades() throws {
        for (method, isRouted) in [(HTTPRequest.Method.get, true), (.connect, true), (.post, false), (.delete, false)] {
            var request = try GateFixture.request("/reading", method: method)
            request.extendedConnectProtocol = "websocket"
            switch Outcome(try fixture.decide(request), fixture.gate) {
            case .refuse(405, _, _, _, _): #expect(!isRouted, "\(method)")
            default: #expect(isRouted, "\(method)")
            }
        }
    }

    @Test("HEAD takes the way of GET, and CONNECT none")
    func specialMethods() throws {
        #expect(try fixture.outcome("/reading", method: .head) == Self.forwarded("reading", target: "/reading"))
        guard case .refuse(405, .methodNotAllowed, _, nil, _) = try fixture.outcome("/public/a", method: .connect)
        else {
            Issue.record("CONNECT was not refused")
            return
        }
    }

    @Test(
        "A path that can be read two ways is refused before any route is looked at",
        arguments: [
            ("/public/../required", PathFault.dotSegment), ("/public/%2e%2e/required", .dotSegment),
            ("/public/a%2fb", .encodedSeparator), ("/public/%5cb", .encodedSeparator),
            ("/public/%00", .encodedControl), ("/public/%252e", .doubleEncoding), ("//public", .emptySegment),
            ("http://api.example.com/public", .notOriginForm), ("*", .notOriginForm), ("", .notOriginForm),
        ])
    func paths(path: String, fault: PathFault) throws {
        let expected = Outcome.refuse(400, .badRequest, reason: fault.rawValue, route: nil, headers: [:])
        #expect(try fixture.outcome(path, Credential.valid.fields(fixture.tokens)) == expected)
    }

    @Test("A direct call to Cognito is found first, whatever its path, method or token")
    func directCognito() throws {
        let target = [("X-Amz-Target", "AWSCognitoIdentityProviderService.InitiateAuth")]
        for path in ["/", "/public/a", "/required", "/../x", ""] {
            let outcome = try fixture.outcome(path, target, method: .post)
            #expect(outcome == .directCognito(operation: "InitiateAuth"), "\(path)")
        }
        let hosted = try GateFixture.request("/required", authority: "login.example.com")
        #expect(Outcome(try fixture.decide(hosted), fixture.gate) == .directCognito(operation: nil))
    }

    // MARK: Keys

    @Test("Without its issuer's keys a token waits for them; when they can't be had the answer is 503 and not 401")
    func missingKeySet() throws {
        let fields = try Credential.valid.fields(fixture.tokens)
        let without: [KeySet?] = [nil, fixture.tokens.otherKeySet]
        #expect(
            try fixture.outcome("/required", fields, keySets: without)
                == .needsKeys(issuerIndex: 0, keyID: VerifyFixture.keyID))
        let unavailable = Outcome.refuse(
            503, .identityProviderUnavailable, reason: "keys-unavailable", route: "required",
            headers: [.retryAfter: "5"])
        #expect(
            try fixture.outcome("/required", fields, keySets: without, keysWereLookedUp: true) == unavailable)
        #expect(fixture.cache.count == 0)
    }

    @Test("A key that its issuer's set does not have is looked for once, and is then unknown")
    func unknownKey() throws {
        let header = VerifyFixture.header.with("kid", "rotated")
        let fields = Credential.bearer(try fixture.tokens.token(header: header))
        #expect(try fixture.outcome("/optional", fields) == .needsKeys(issuerIndex: 0, keyID: "rotated"))
        #expect(
            try fixture.outcome("/optional", fields, keysWereLookedUp: true)
                == .unauthorized("unknown-key", route: "optional"))
        let rotated = try VerifyFixture.keySet(of: [("rotated", fixture.tokens.key)], generation: 9)
        let keySets: [KeySet?] = [rotated, fixture.tokens.otherKeySet]
        #expect(
            try fixture.outcome("/optional", fields, keySets: keySets, keysWereLookedUp: true)
                == Self.forwarded("optional", target: "/optional", subject: Self.subject))
    }

    @Test("One issuer's missing keys do not touch another's tokens")
    func independentIssuers() throws {
        let claims = VerifyFixture.accessClaims.with("iss", .string(VerifyFixture.otherPool.issuer))
        let token = try fixture.tokens.token(claims: claims, signedBy: fixture.tokens.otherKey)
        let outcome = try fixture.outcome(
            "/other", Credential.bearer(token), keySets: [nil, fixture.tokens.otherKeySet])
        #expect(outcome == Self.forwarded("other", target: "/other", subject: Self.subject))
    }

    // MARK: The cache

    @Test("A token verified for one route is judged anew by what the next one accepts")
    func sharedCache() throws {
        let access = try Credential.valid.fields(fixture.tokens)
        let id = try Credential.idToken.fields(fixture.tokens)
        for _ in 0..<2 {
            #expect(
                try fixture.outcome("/required", access)
                    == Self.forwarded("required", target: "/required", subject: Self.subject))
            #expect(try fixture.outcome("/id", access) == .unauthorized("token-use-not-accepted", route: "id"))
            #expect(try fixture.outcome("/other", access) == .unauthorized("issuer-not-accepted", route: "other"))
            #expect(
                try fixture.outcome("/id", id) == Self.forwarded("id", target: "/id", subject: Self.subject))
            #expect(
                try fixture.outcome("/required", id) == .unauthorized("token-use-not-accepted", route: "required"))
        }
        #expect(fixture.cache.count == 2)
        #expect(fixture.cache.missCount == 2)
        #expect(fixture.cache.hitCount == 8)
    }

    @Test("A token has one place in the cache, however the scheme before it is spelt")
    func oneEntry() throws {
        let token = try fixture.tokens.token()
        for scheme in ["Bearer ", "bearer ", "BEARER ", "bEARER ", "Bearer   ", "bearer  "] {
            #expect(
                try fixture.outcome("/required", [("Authorization", scheme + token)])
                    == Self.forwarded("required", target: "/required", subject: Self.subject))
        }
        #expect(fixture.cache.count == 1 && fixture.cache.missCount == 1 && fixture.cache.hitCount == 5)
    }

    @Test("A cached token ends with its time and with its key")
    func cacheEnds() throws {
        let fields = try Credential.valid.fields(fixture.tokens)
        _ = try fixture.outcome("/required", fields)
        #expect(fixture.cache.count == 1)
        // `exp` and the skew of a minute.
        #expect(
            try fixture.outcome("/required", fields, now: 1_780_003_659)
                == Self.forwarded("required", target: "/required", subject: Self.subject))
        #expect(
            try fixture.outcome("/required", fields, now: 1_780_003_660)
                == .unauthorized("expired", .tokenExpired, route: "required"))
        #expect(fixture.cache.count == 0)
        _ = try fixture.outcome("/required", fields)
        let replaced = try VerifyFixture.keySet(of: [(VerifyFixture.keyID, fixture.tokens.otherKey)], generation: 9)
        #expect(
            try fixture.outcome("/required", fields, keySets: [replaced, nil])
                == .unauthorized("bad-signature", route: "required"))
    }

    @Test("Whoever can't be named to the backend in full is not let in")
    func tooLargeIdentity() throws {
        // 1400 bytes in the token, 4200 when encoded for the header.
        let group = String(repeating: "é", count: 700)
        let claims = VerifyFixture.accessClaims.with("cognito:groups", [.string(group)])
        let fields = Credential.bearer(try fixture.tokens.token(claims: claims))
        #expect(try fixture.outcome("/required", fields) == .unauthorized("identity-too-large", route: "required"))
        #expect(fixture.cache.count == 0)
    }
}
