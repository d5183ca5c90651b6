import Cryptography
import Encoding
import Pipeline
import Testing

/// The numbers in the names are rows of the threat list: whose token it is, and what for.
@Suite("Verify: profiles")
struct VerifyProfileTests {
    /// Each with its own key set; those of one `iss` share theirs.
    static let issuers = [
        VerifyFixture.pool,
        Issuer(
            name: "apple", issuer: "https://appleid.apple.com",
            profile: .apple(audiences: ["com.example.app", "com.example.pro"]), keySource: .url("https://a/keys")),
        Issuer(
            name: "provider", issuer: "https://id.example/",
            profile: .openID(
                OpenIDRules(
                    audiences: ["https://api.example"], requiredClaims: ["tenant"],
                    groupsClaim: ClaimPath(["realm", "roles"]))),
            keySource: .url("https://b/keys")),
        Issuer(
            name: "provider-id", issuer: "https://id.example/",
            profile: .openID(OpenIDRules(audiences: ["app-1"], tokenUse: .id)), keySource: .url("https://b/keys")),
        Issuer(
            name: "sessions", issuer: "https://gateway.example", profile: .gatehouse(audiences: ["api"]),
            keySource: .url("https://c/keys")),
        Issuer(
            name: "typed", issuer: "https://typed.example",
            profile: .openID(
                OpenIDRules(audiences: ["api"], types: TokenTypes(["application/AT+JWT"], isRequired: true))),
            keySource: .url("https://d/keys")),
    ]
    static let everyUse = Set(TokenUse.allCases)

    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    static func claims(_ issuer: String, _ more: JSONObject) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": "user-1", "iat": 1_780_000_000, "exp": 1_780_003_600,
        ]
        for (name, value) in more { claims[name] = value }
        return claims
    }

    static let apple = claims(
        "https://appleid.apple.com",
        [
            "aud": "com.example.app", "email": "a@privaterelay.appleid.com", "email_verified": "true",
            "is_private_email": "true", "nonce": "n", "c_hash": "h",
        ])
    static let access = claims(
        "https://id.example/",
        [
            "aud": ["https://api.example", "other"], "scope": "a b", "azp": "app-1", "tenant": "acme",
            "preferred_username": "ada", "realm": ["roles": ["staff", "beta"]],
        ])
    static let id = claims("https://id.example/", ["aud": "app-1", "at_hash": "h", "email_verified": true])
    static let session = claims(
        "https://gateway.example", ["aud": "api", "sid": "s", "jti": "j", "auth_time": 1_779_999_000])
    static let sessionType: JSON = "session+jwt"

    func verdict(
        _ claims: JSONObject, type: JSON? = nil, issuers: Set<String>? = nil, uses: Set<TokenUse> = everyUse
    ) throws -> Verdict {
        let token = try fixture.token(header: VerifyFixture.header.with("typ", type), claims: claims)
        return TokenVerifier(issuers: Self.issuers).verify(
            token.utf8, accepting: TokenAcceptance(issuers: issuers, tokenUses: uses),
            keys: { _ in fixture.keySet }, now: VerifyFixture.now)
    }

    func reason(
        _ claims: JSONObject, type: JSON? = nil, issuers: Set<String>? = nil, uses: Set<TokenUse> = everyUse
    ) throws -> RejectReason? {
        if case .rejected(let reason) = try verdict(claims, type: type, issuers: issuers, uses: uses) {
            reason
        } else {
            nil
        }
    }

    func verified(_ claims: JSONObject, type: JSON? = nil, issuers: Set<String>? = nil) throws -> VerifiedToken {
        let verdict = try verdict(claims, type: type, issuers: issuers)
        guard case .verified(let token) = verdict else { throw Unverified(verdict: "\(verdict)") }
        return token
    }

    struct Unverified: Error { let verdict: String }

    // MARK: Apple

    @Test("An identity token of Apple says who the user is, and its booleans are booleans")
    func appleToken() throws {
        let token = try verified(Self.apple)
        #expect(token.tokenUse == .id && token.clientID == "com.example.app" && token.issuerName == "apple")
        #expect(token.email == "a@privaterelay.appleid.com" && token.emailVerified == true)
        #expect(token.claims["email_verified"] == true && token.claims["is_private_email"] == true)
        #expect(token.username == nil && token.groups.isEmpty && token.scopes.isEmpty)
        let no = try verified(Self.apple.with("email_verified", "false").with("is_private_email", false))
        #expect(no.emailVerified == false && no.claims["is_private_email"] == false)
        #expect(try verified(Self.apple.with("email_verified", "yes")).emailVerified == nil)
    }

    @Test(
        "Row 21: An Apple token for another app is refused",
        arguments: ["com.example.other", "com.example.app.extra", "COM.EXAMPLE.APP", "", nil, ["x"]] as [JSON?])
    func otherApp(audience: JSON?) throws {
        #expect(try reason(Self.apple.with("aud", audience)) == .audienceNotAllowed)
    }

    @Test("Where only access tokens are wanted, Apple's are none")
    func appleIsNoAccess() throws {
        #expect(try reason(Self.apple, uses: [.access, .session]) == .tokenUseNotAccepted)
    }

    @Test("What Apple tells a server about a user is no token of that user")
    func appleEvents() throws {
        #expect(try reason(Self.apple.with("events", "{}")) == .typeNotAllowed)
    }

    // MARK: OpenID Connect

    @Test("An access token of any provider says who the caller is")
    func accessToken() throws {
        let token = try verified(Self.access, issuers: ["provider"])
        #expect(token.tokenUse == .access && token.clientID == "app-1" && token.username == "ada")
        #expect(token.scopes == ["a", "b"] && token.groups == ["staff", "beta"])
        let scopes = Self.access.with("scope", nil)
        #expect(try verified(scopes.with("scp", ["c d", "e"]), issuers: ["provider"]).scopes == ["c d", "e"])
        #expect(try verified(scopes.with("scp", "c d"), issuers: ["provider"]).scopes == ["c", "d"])
        let named = Self.access.with("client_id", "app-2")
        #expect(try verified(named, issuers: ["provider"]).clientID == "app-2")
        #expect(try verified(Self.access.with("azp", nil), issuers: ["provider"]).clientID == "")
    }

    @Test("Claims that an issuer requires must be there", arguments: [nil, .null] as [JSON?])
    func requiredClaims(value: JSON?) throws {
        #expect(try reason(Self.access.with("tenant", value), issuers: ["provider"]) == .claimMissing)
    }

    @Test("An ID token is none that gives access, and the other way round")
    func notInterchangeable() throws {
        let id = try verified(Self.id, issuers: ["provider-id"])
        #expect(id.tokenUse == .id && id.clientID == "app-1" && id.emailVerified == true)
        #expect(try reason(Self.id.with("tenant", "x"), issuers: ["provider"]) == .tokenUseNotAccepted)
        let hashless = Self.id.with("at_hash", nil).with("tenant", "x")
        #expect(try reason(hashless, issuers: ["provider"]) == .audienceNotAllowed)
        for hash in ["at_hash", "c_hash"] {
            #expect(try reason(Self.access.with(hash, "h"), issuers: ["provider"]) == .tokenUseNotAccepted)
        }
        #expect(try reason(Self.access, issuers: ["provider-id"]) == .audienceNotAllowed)
        let forApp = Self.access.with("aud", "app-1")
        #expect(try reason(forApp, type: "at+jwt", issuers: ["provider-id"]) == .typeNotAllowed)
        #expect(try reason(forApp.with("token_use", "access"), issuers: ["provider-id"]) == .tokenUseNotAccepted)
        #expect(try reason(Self.access, issuers: ["provider"], uses: [.id]) == .tokenUseNotAccepted)
        #expect(try reason(Self.id, issuers: ["provider-id"], uses: [.access]) == .tokenUseNotAccepted)
    }

    @Test("Row 32: A logout token without typ is told by its events")
    func logoutToken() throws {
        let events: JSON = ["http://schemas.openid.net/event/backchannel-logout": [:]]
        #expect(try reason(Self.id.with("events", events), issuers: ["provider-id"]) == .typeNotAllowed)
    }

    @Test(
        "Where an issuer says which typ its tokens have, they must have it",
        arguments: [
            ("at+jwt", nil), ("application/at+jwt", nil), ("AT+JWT", nil), (nil, .typeNotAllowed),
            ("JWT", .typeNotAllowed),
        ]
            as [(JSON?, RejectReason?)])
    func types(type: JSON?, expected: RejectReason?) throws {
        #expect(try reason(Self.claims("https://typed.example", ["aud": "api"]), type: type) == expected)
    }

    // MARK: Sessions

    @Test("A session says so in its typ, and has what ends it")
    func session() throws {
        let token = try verified(Self.session, type: Self.sessionType)
        #expect(token.tokenUse == .session && token.clientID == "api")
        for name in ["sid", "jti", "auth_time"] {
            for value in [nil, .null, "", true] as [JSON?] {
                let claims = Self.session.with(name, value)
                #expect(try reason(claims, type: Self.sessionType) == .claimMissing, "\(name)")
            }
        }
        #expect(try reason(Self.session.with("aud", "x"), type: Self.sessionType) == .audienceNotAllowed)
        let uses: Set<TokenUse> = [.access, .id]
        #expect(try reason(Self.session, type: Self.sessionType, uses: uses) == .tokenUseNotAccepted)
    }

    @Test(
        "Row 32: A session is nobody else's token, and nobody else's token is a session",
        arguments: [nil, "JWT", "at+jwt", "dpop+jwt", "session"] as [JSON?])
    func sessionType(type: JSON?) throws {
        #expect(try reason(Self.session, type: type) == .typeNotAllowed)
        for (claims, name) in [
            (Self.apple, "apple"), (Self.access, "provider"), (Self.id, "provider-id"),
            (VerifyFixture.accessClaims, "pool"),
        ] {
            #expect(try reason(claims, type: Self.sessionType, issuers: [name]) == .typeNotAllowed, "\(name)")
            #expect(try reason(claims, type: "dpop+jwt", issuers: [name]) == .typeNotAllowed, "\(name)")
            #expect(try reason(claims, type: "logout+jwt", issuers: [name]) == .typeNotAllowed, "\(name)")
        }
    }

    // MARK: Keys

    @Test("Row 18: No profile's token verifies with another's key of the same name")
    func othersKeys() throws {
        let tokens = [Self.apple, Self.access, Self.id, VerifyFixture.accessClaims]
        for (index, claims) in tokens.enumerated() {
            let token = try fixture.token(claims: claims, signedBy: fixture.otherKey)
            let name = ["apple", "provider", "provider-id", "pool"][index]
            let verdict = TokenVerifier(issuers: Self.issuers).verify(
                token.utf8, accepting: TokenAcceptance(issuers: [name], tokenUses: Self.everyUse),
                keys: { Self.issuers[$0].name == name ? fixture.keySet : fixture.otherKeySet },
                now: VerifyFixture.now)
            guard case .rejected(.badSignature) = verdict else { throw Unverified(verdict: "\(name): \(verdict)") }
        }
    }
}
