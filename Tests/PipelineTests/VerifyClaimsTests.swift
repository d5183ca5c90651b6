import Cryptography
import Encoding
import Pipeline
import Testing

/// The numbers in the names are rows of the threat list: what a rightly signed token may say.
@Suite("Verify: claims")
struct VerifyClaimsTests {
    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    @Test("An access token says who the caller is")
    func accessToken() throws {
        let token = try #require(fixture.verified(try fixture.token()))
        #expect(token.issuer == "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example")
        #expect(token.issuerName == "pool" && token.tokenUse == .access && token.clientID == VerifyFixture.clientID)
        #expect(token.subject == "6f1c2a4e-0000-4000-8000-1234567890ab" && token.username == token.subject)
        #expect(token.email == nil && token.emailVerified == nil)
        #expect(token.groups == ["beta", "staff"] && token.scopes == ["openid", "email"])
        #expect(token.expires == 1_780_003_600 && token.issuedAt == 1_780_000_000)
        #expect(token.claims["jti"] == "7d1f" && token.keyID == VerifyFixture.keyID)
    }

    @Test("An ID token says who the user is")
    func idToken() throws {
        let header = VerifyFixture.header.with("kid", "id-key=")
        let token = try #require(fixture.verified(try fixture.token(header: header, claims: VerifyFixture.idClaims)))
        #expect(token.tokenUse == .id && token.clientID == VerifyFixture.clientID && token.keyID == "id-key=")
        #expect(token.username == "ada" && token.email == "ada@example.com" && token.emailVerified == true)
        #expect(token.groups.isEmpty && token.scopes.isEmpty)
    }

    @Test(
        "A verified e-mail may be told as a boolean or as text, and nothing else is taken for one",
        arguments: [
            (true, true), (false, false), ("true", true), ("false", false), (1, nil), ("True", nil), (nil, nil),
        ] as [(JSON, Bool?)])
    func emailVerified(value: JSON, expected: Bool?) throws {
        let claims = VerifyFixture.idClaims.with("email_verified", value)
        #expect(try #require(fixture.verified(try fixture.token(claims: claims))).emailVerified == expected)
    }

    @Test(
        "Row 12: A repeated claim is refused, also when it is escaped",
        arguments: [
            #""sub":"admin""#, #""s\u0075b":"admin""#, #""exp":9999999999"#, #""\u0065\u0078\u0070":1"#,
        ])
    func repeatedClaim(member: String) throws {
        #expect(fixture.reason(try fixture.token(member: member, replacing: "")) == .malformedPayload)
    }

    static let otherIssuers: [JSON?] = [
        "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example/",
        "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example",
        "HTTPS://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
        "http://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
        "https://c\u{43e}gnito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
        "https://cognito-idp.eu-west-1.amazonaws.com%2feu-west-1_Example",
        "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example\u{0}",
        " https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example",
        "https://cognito-idp.eu-west-1.amazonaws.com:443/eu-west-1_Example",
        "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Exampl", "", nil, .null, 1,
        ["https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example"],
    ]

    @Test("Row 17: iss is compared byte for byte", arguments: otherIssuers)
    func issuer(value: JSON?) throws {
        let reason = fixture.reason(try fixture.token(claims: VerifyFixture.accessClaims.with("iss", value)))
        #expect(reason == (value?.stringValue == nil ? .issuerInvalid : .unknownIssuer))
    }

    @Test("Row 17: Canonically equivalent text is another issuer and another client")
    func equivalence() throws {
        let issuer = Issuer.cognito(
            name: "k", region: "r", userPoolID: "Kpool", clientIDs: ["Kclient"], issuer: "https://K.example")
        let verifier = TokenVerifier(issuers: [issuer])
        let claims = VerifyFixture.accessClaims.with("iss", "https://K.example").with("client_id", "Kclient")
        let cases: [(claims: JSONObject, reason: RejectReason?)] = [
            (claims, nil), (claims.with("iss", "https://\u{212a}.example"), .unknownIssuer),
            (claims.with("client_id", "\u{212a}client"), .clientNotAllowed),
            (claims.with("token_use", "id").with("aud", "Kclient"), nil),
            (claims.with("token_use", "id").with("aud", "\u{212a}client"), .audienceNotAllowed),
            (claims.with("token_use", "id").with("aud", ["\u{212a}client"]), .audienceNotAllowed),
        ]
        for (claims, reason) in cases {
            let verdict = verifier.verify(
                try fixture.token(claims: claims).utf8, accepting: TokenAcceptance(tokenUses: [.access, .id]),
                keys: { _ in fixture.keySet }, now: VerifyFixture.now)
            switch verdict {
            case .verified: #expect(reason == nil)
            case .rejected(let found): #expect(found == reason)
            case .needsKeys: Issue.record("needs keys")
            }
        }
    }

    static let audiences: [(value: JSON?, isAccepted: Bool)] = [
        ("1example23456789", true), (["1example23456789"], true), (["x", "second-client"], true), ([], false),
        ("", false),
        ("1example2345678", false), ("1example234567890", false), ("1EXAMPLE23456789", false),
        ("1example23456789,x", false), ("x 1example23456789", false), ([["1example23456789"]], false),
        (["1example23456789", 1], false), (["aud": "1example23456789"], false), (nil, false), (.null, false),
        (1, false),
        ("*", false),
    ]

    @Test("Row 19: aud is one of the app clients, alone or in an array", arguments: audiences)
    func audience(value: JSON?, isAccepted: Bool) throws {
        let token = try fixture.token(claims: VerifyFixture.idClaims.with("aud", value))
        #expect(fixture.reason(token) == (isAccepted ? nil : .audienceNotAllowed))
        #expect((fixture.verified(token) != nil) == isAccepted)
    }

    @Test(
        "Row 20: An access token needs client_id, and aud can't stand in for it",
        arguments: [
            nil, "", "another-client", "1EXAMPLE23456789", ["1example23456789"], .null,
        ] as [JSON?])
    func client(value: JSON?) throws {
        let claims = VerifyFixture.accessClaims.with("client_id", value).with("aud", "1example23456789")
        #expect(fixture.reason(try fixture.token(claims: claims)) == .clientNotAllowed)
    }

    @Test("Row 20: An ID token is not accepted for its client_id")
    func clientOfIDToken() throws {
        let claims = VerifyFixture.idClaims.with("aud", nil).with("client_id", .string(VerifyFixture.clientID))
        #expect(fixture.reason(try fixture.token(claims: claims)) == .audienceNotAllowed)
    }

    @Test(
        "Row 20: token_use is access or id, exactly",
        arguments: [
            nil, "", "refresh", "Access", "ID", .null, ["access"],
        ] as [JSON?])
    func tokenUse(value: JSON?) throws {
        let token = try fixture.token(claims: VerifyFixture.accessClaims.with("token_use", value))
        #expect(fixture.reason(token) == .tokenUseInvalid)
    }

    @Test("A route's own rules and the issuer's both decide what is accepted")
    func acceptance() throws {
        let access = try fixture.token()
        let id = try fixture.token(claims: VerifyFixture.idClaims)
        let onlyAccess = TokenAcceptance(tokenUses: [.access])
        #expect(fixture.reason(access, accepting: onlyAccess) == nil)
        #expect(fixture.reason(id, accepting: onlyAccess) == .tokenUseNotAccepted)
        #expect(fixture.reason(access, accepting: TokenAcceptance(tokenUses: [.id])) == .tokenUseNotAccepted)
        #expect(fixture.reason(access, accepting: TokenAcceptance(tokenUses: [])) == .tokenUseNotAccepted)
        let onlyOther = TokenAcceptance(issuers: ["other"], tokenUses: [.access])
        #expect(fixture.reason(access, accepting: onlyOther) == .issuerNotAccepted)
        let onlyPool = TokenAcceptance(issuers: ["pool"], tokenUses: [.access])
        #expect(fixture.reason(access, accepting: onlyPool) == nil)

        let accessPool = Issuer.cognito(
            name: "pool", region: "eu-west-1", userPoolID: "eu-west-1_Example", clientIDs: [VerifyFixture.clientID],
            tokenUses: [.access])
        let verdict = TokenVerifier(issuers: [accessPool]).verify(
            id.utf8, accepting: TokenAcceptance(tokenUses: [.access, .id]), keys: { _ in fixture.keySet },
            now: VerifyFixture.now)
        guard case .rejected(.tokenUseNotAccepted) = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    @Test(
        "Row 22, 23: A subject of any characters is kept exactly, for the header writer to encode",
        arguments: [
            "admin\r\nX-User-Role: admin", "a\u{0}b", "usér-1", "😀", "\u{202e}nimda",
            String(repeating: "x", count: 255),
        ])
    func subject(text: String) throws {
        let token = try #require(
            fixture.verified(try fixture.token(claims: VerifyFixture.accessClaims.with("sub", .string(text)))))
        #expect(Array(token.subject.utf8) == Array(text.utf8))
    }

    @Test(
        "Row 22: A subject that is missing, empty, too long or no text is refused",
        arguments: [
            nil, "", .string(String(repeating: "x", count: 256)), .string(String(repeating: "é", count: 128)), .null, 1,
            true,
            ["a"], ["sub": "a"],
        ] as [JSON?])
    func invalidSubject(value: JSON?) throws {
        let token = try fixture.token(claims: VerifyFixture.accessClaims.with("sub", value))
        #expect(fixture.reason(token) == .subjectInvalid)
    }

    @Test("A pool's scopes are in its scope claim alone")
    func scopes() throws {
        let claims = VerifyFixture.accessClaims.with("scp", ["admin"])
        #expect(try #require(fixture.verified(try fixture.token(claims: claims))).scopes == ["openid", "email"])
        let none = claims.with("scope", nil)
        #expect(try #require(fixture.verified(try fixture.token(claims: none))).scopes.isEmpty)
    }

    @Test("Row 24: Groups are kept apart, whatever is in their names")
    func groups() throws {
        let claims = VerifyFixture.accessClaims.with("cognito:groups", ["a,b", "c\r\nX: y", 1, ["d"]])
        #expect(try #require(fixture.verified(try fixture.token(claims: claims))).groups == ["a,b", "c\r\nX: y"])
        let none = VerifyFixture.accessClaims.with("cognito:groups", "admin")
        #expect(try #require(fixture.verified(try fixture.token(claims: none))).groups.isEmpty)
    }

    @Test("A pool's issuer and key set follow from its region and id, and each can be given")
    func derivation() {
        let base = "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_A"
        let derived = Issuer.cognito(name: "a", region: "us-east-1", userPoolID: "us-east-1_A", clientIDs: [])
        #expect(derived.issuer == base && derived.keySource == .url(base + "/.well-known/jwks.json"))
        #expect(derived.skew == 60 && derived.algorithms == [.rs256])
        let china = Issuer.cognito(name: "a", region: "cn-north-1", userPoolID: "cn-north-1_A", clientIDs: [])
        #expect(china.issuer == "https://cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_A")
        let local = Issuer.cognito(
            name: "a", region: "us-east-1", userPoolID: "us-east-1_A", clientIDs: [], jwksURL: "http://127.0.0.1/keys")
        #expect(local.issuer == base && local.keySource == .url("http://127.0.0.1/keys"))
        let named = Issuer.cognito(
            name: "a", region: "us-east-1", userPoolID: "us-east-1_A", clientIDs: [], issuer: "https://id.example")
        #expect(
            named.issuer == "https://id.example"
                && named.keySource == .url("https://id.example/.well-known/jwks.json"))
    }
}
