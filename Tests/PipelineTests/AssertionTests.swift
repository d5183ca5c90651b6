import ClockSteps
import Cryptography
import Encoding
import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Assertions for backends")
struct AssertionTests {
    static let issuer = "https://api.example.com"
    static let identityClaims = [
        IdentityClaim(header: "X-Auth-Tenant", claim: ClaimPath(["custom:tenant"])),
        IdentityClaim(header: "X-Country", claim: ClaimPath(["address", "country"])),
    ]

    let tokens: VerifyFixture
    let gate: Gate
    let cache = TokenCache()
    let key: AssertionKey
    let signing: P256SigningKey

    init() throws {
        tokens = try VerifyFixture()
        signing = try P256SigningKey.generate()
        key = AssertionKey(signing)
        gate = try Self.gate(
            Assertion(
                header: "X-Proof", issuer: Self.issuer, audiences: ["orders": "https://orders.internal"],
                claims: Self.identityClaims))
    }

    static func gate(_ assertion: Assertion) throws -> Gate {
        let routes = [("/api", "api"), ("/also", "api"), ("/orders", "orders")].map { path, upstream in
            (path, Access.required, Destination.upstream(upstream))
        }
        let others: [(String, Access, Destination)] = [
            ("/public", .public, .upstream("api")), ("/optional", .optional, .upstream("api")),
            ("/me", .required, .endpoint(0)),
        ]
        return Gate(
            routes: try RouteTable(
                (routes + others).map { path, access, destination in
                    Route(
                        name: path, pattern: try RoutePattern(path), access: access, tokenUses: [.access, .id],
                        destination: destination)
                }),
            verifier: TokenVerifier(issuers: [VerifyFixture.pool]), identityClaims: identityClaims,
            assertion: assertion)
    }

    enum Fault: Error { case notForwarded(String), noAssertion }

    /// The header lines that the backend gets, and which of the client's fields.
    func forwarded(
        _ path: String, _ fields: [(String, String)] = [], key: AssertionKey? = nil,
        now: Int64 = VerifyFixture.now, hasKey: Bool = true
    ) throws -> (lines: [String], passed: [String]) {
        let request = try GateFixture.request(path, fields)
        let context = RequestContext(
            peer: GateFixture.peer, scheme: "https", requestID: "id",
            trace: try #require(TraceContext(parsing: GateFixture.traceparent)), now: now,
            assertionKey: hasKey ? key ?? self.key : nil)
        switch gate.decide(request, context, cache: cache, keySets: [tokens.keySet]) {
        case .forward(let permit):
            let lines = String(decoding: permit.lines, as: UTF8.self)
            #expect(lines.hasSuffix("\r\n"))
            let passed = permit.request.headerFields.filter { permit.passes($0) }.map(\.name.rawName)
            return (lines.split(separator: "\r\n").map(String.init), passed)
        case .refuse(let refusal, _): throw Fault.notForwarded(refusal.reason.code)
        default: throw Fault.notForwarded("")
        }
    }

    func assertion(
        _ path: String, _ token: String, key: AssertionKey? = nil, now: Int64 = VerifyFixture.now
    ) throws -> String {
        let lines = try forwarded(path, [("Authorization", "Bearer \(token)")], key: key, now: now).lines
        let found = lines.filter { $0.hasPrefix("X-Proof: ") }
        #expect(found.count == 1)
        return String(try #require(found.first).dropFirst(9))
    }

    static func part(_ index: Int, of token: String) throws -> JSONObject {
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let bytes = try #require(Base64URL.decode(parts[index].utf8))
        return try #require(JSON.parse(bytes).objectValue)
    }

    // MARK: Claims

    @Test("It names the gateway, the upstream, the caller and the token it stands for, and has its own type")
    func contents() throws {
        let claims = VerifyFixture.accessClaims.with("custom:tenant", ["acme, inc", "\r\n"]).with(
            "address", ["country": "DE"])
        let token = try assertion("/api", tokens.token(claims: claims))
        #expect(
            try Self.part(0, of: token)
                == ["alg": "ES256", "typ": "gatehouse-assertion+jwt", "kid": .string(signing.thumbprint)])
        #expect(
            try Self.part(1, of: token) == [
                "iss": .string(Self.issuer), "aud": "api", "sub": "6f1c2a4e-0000-4000-8000-1234567890ab",
                "iat": 1_780_000_000, "exp": 1_780_000_060, "token_iss": .string(VerifyFixture.pool.issuer),
                "token_exp": 1_780_003_600, "token_use": "access", "client_id": .string(VerifyFixture.clientID),
                "scope": "openid email", "groups": ["beta", "staff"],
                "username": "6f1c2a4e-0000-4000-8000-1234567890ab",
                "claims": ["X-Auth-Tenant": ["acme, inc", "\r\n"], "X-Country": "DE"],
            ])
    }

    @Test("Of an ID token it tells the e-mail address too; claims that are not there are left out")
    func idToken() throws {
        let claims = try Self.part(1, of: assertion("/api", tokens.token(claims: VerifyFixture.idClaims)))
        #expect(claims["email"] == "ada@example.com" && claims["email_verified"] == true)
        #expect(claims["username"] == "ada" && claims["scope"] == "" && claims["groups"] == [])
        #expect(claims["claims"] == nil)
    }

    @Test("Its signature is the key's, over exactly these bytes, and its key is in the set under its kid")
    func signature() throws {
        let token = try assertion("/api", tokens.token())
        let parts = token.split(separator: ".").map(String.init)
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let other = AssertionKey(try P256SigningKey.generate())
        let document = AssertionKeys(signing: other, others: [key]).document
        let set = try KeySet(jwks: document, algorithms: [.es256], generation: 1)
        #expect(set.keyIDs == [other.id, key.id] && set.dropped == [])
        let published = try #require(set.key(id: key.id, algorithm: .es256))
        #expect(published.verify(signature: signature, of: signed, algorithm: .es256))
        let unrelated = try #require(set.key(id: other.id, algorithm: .es256))
        #expect(!unrelated.verify(signature: signature, of: signed, algorithm: .es256))
    }

    @Test("A key's id is its thumbprint (RFC 7638), and the set holds nothing private")
    func published() throws {
        let known = AssertionKey(try P256SigningKey(pem: Secret(Self.knownKey)))
        #expect(known.id == "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")
        let text = String(decoding: AssertionKeys(signing: known, others: []).document, as: UTF8.self)
        #expect(
            text == #"{"keys":[{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
                + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","#
                + #""kid":"oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U","use":"sig","alg":"ES256"}]}"#)
    }

    /// RFC 7515, A.3.
    static let knownKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
        focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END EC PRIVATE KEY-----
        """

    @Test("An assertion is no bearer token: its type alone keeps it from being one, whoever would trust the key")
    func noBearer() throws {
        let assertion = try assertion("/api", tokens.token())
        var trusting = VerifyFixture.pool
        trusting.issuer = Self.issuer
        trusting.algorithms = [.es256]
        let keys = try KeySet(
            jwks: AssertionKeys(signing: key, others: []).document, algorithms: [.es256], generation: 1)
        let verdict = TokenVerifier(issuers: [trusting]).verify(
            assertion.utf8, accepting: TokenAcceptance(tokenUses: [.access, .id, .session]), keys: { _ in keys },
            now: VerifyFixture.now)
        guard case .rejected(.typeNotAllowed) = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    // MARK: For whom, and how long

    @Test("Each upstream gets its own audience; one is no good for another's backend")
    func audiences() throws {
        let token = try tokens.token()
        #expect(gate.audiences == ["api", "https://orders.internal"])
        #expect(try Self.part(1, of: assertion("/api", token))["aud"] == "api")
        #expect(try Self.part(1, of: assertion("/orders", token))["aud"] == "https://orders.internal")
        #expect(try assertion("/also", token) == assertion("/api", token))
    }

    @Test("It is signed once and kept for half of its life, for each token and upstream")
    func kept() throws {
        let token = try tokens.token()
        let first = try assertion("/api", token)
        let orders = try assertion("/orders", token)
        #expect(try assertion("/api", token, now: VerifyFixture.now + 29) == first)
        #expect(try assertion("/orders", token, now: VerifyFixture.now + 29) == orders)
        let second = try assertion("/api", token, now: VerifyFixture.now + 30)
        #expect(second != first)
        #expect(try Self.part(1, of: second)["exp"] == 1_780_000_090)
        #expect(try assertion("/api", token, now: VerifyFixture.now + 59) == second)
        let other = try tokens.token(claims: VerifyFixture.accessClaims.with("sub", "someone else"))
        #expect(try Self.part(1, of: assertion("/api", other))["sub"] == "someone else")
    }

    @Test("It is of the present, whatever the clock was when the last one was signed", arguments: ClockSteps.allCases)
    func steps(steps: ClockSteps) throws {
        let token = try tokens.token(
            claims: VerifyFixture.accessClaims.with("iat", nil).with("exp", .number(JSONNumber(Self.lastSecond))))
        for error in [0] + steps.errors + [0] {
            for now in [VerifyFixture.now + error, VerifyFixture.now + error + 29] {
                let claims = try Self.part(1, of: assertion("/api", token, now: now))
                #expect(claims["iat"]?.integerValue == VerifyFixture.now + error, "at \(error)")
                #expect(claims["exp"]?.integerValue == VerifyFixture.now + error + 60)
            }
        }
    }

    private static let lastSecond = VerifyFixture.now + 90 * 86_400

    @Test("Another key signs from the next request on")
    func rotated() throws {
        let token = try tokens.token()
        let first = try assertion("/api", token)
        let next = AssertionKey(try P256SigningKey.generate())
        #expect(try Self.part(0, of: assertion("/api", token, key: next))["kid"] == .string(next.id))
        #expect(try Self.part(0, of: first)["kid"] == .string(key.id))
    }

    @Test("It does not outlast the token")
    func tokenEnds() throws {
        let token = try tokens.token()
        let last: Int64 = 1_780_003_600 + VerifyFixture.pool.skew
        let claims = try Self.part(1, of: assertion("/api", token, now: last - 10))
        #expect(claims["exp"]?.integerValue == last)
        // Nothing better can be had of it.
        #expect(try assertion("/api", token, now: last - 1) == assertion("/api", token, now: last - 10))
    }

    @Test("Without a key nothing is sent on, and without a token there is nothing to assert")
    func without() throws {
        let bearer = [("Authorization", "Bearer \(try tokens.token())")]
        let fault = #expect(throws: Fault.self) { try forwarded("/api", bearer, hasKey: false) }
        guard case .notForwarded("assertion-not-signed") = fault else {
            Issue.record("\(String(describing: fault))"); return
        }
        for (path, fields) in [("/public", bearer), ("/optional", []), ("/public", [])] {
            #expect(try !forwarded(path, fields).lines.contains { $0.hasPrefix("X-Proof") }, "\(path)")
        }
        #expect(try forwarded("/optional", bearer).lines.contains { $0.hasPrefix("X-Proof: ey") })
    }

    @Test(
        "A client's own never gets through, in any spelling, on any route (threats 34, 35, 36, 39)",
        arguments: ["X-Proof", "x-proof", "X_Proof", "x.PROOF", "X-Auth-Assertion"],
        ["/public", "/optional", "/api"])
    func stripped(name: String, path: String) throws {
        let bearer = path == "/api" ? [("Authorization", "Bearer \(try tokens.token())")] : []
        let forged = [(name, "eyJ"), (name, "eyK"), ("Connection", name)]
        let (lines, passed) = try forwarded(path, bearer + forged)
        #expect(passed == [])
        #expect(lines.filter { $0.hasPrefix("X-Proof") }.count == (path == "/api" ? 1 : 0))
    }
}
