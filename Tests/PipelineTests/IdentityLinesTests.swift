import Encoding
import Pipeline
import Testing

@Suite("IdentityLines")
struct IdentityLinesTests {
    static func identity(_ change: (inout Identity) -> Void = { _ in }) -> Identity {
        var identity = Identity(subject: "s-1", issuer: "https://i", clientID: "c1", tokenUse: .access, expires: 17)
        change(&identity)
        return identity
    }

    static func text(_ identity: Identity, namespace: String = "X-Auth-") throws -> String {
        String(decoding: try IdentityLines(namespace: namespace).lines(for: identity), as: UTF8.self)
    }

    @Test("Every claim has its line, once")
    func allLines() throws {
        let identity = Self.identity {
            $0.email = "a@b.c"
            $0.emailVerified = false
            $0.username = "al"
            $0.groups = ["beta", "staff"]
            $0.scopes = ["openid", "email"]
            $0.tokenUse = .id
        }
        #expect(
            try Self.text(identity) == """
                X-Auth-Subject: s-1\r
                X-Auth-Email: a@b.c\r
                X-Auth-Email-Verified: false\r
                X-Auth-Username: al\r
                X-Auth-Groups: beta,staff\r
                X-Auth-Scopes: openid email\r
                X-Auth-Issuer: https://i\r
                X-Auth-Client: c1\r
                X-Auth-Token-Use: id\r
                X-Auth-Expires: 17\r

                """)
    }

    @Test("An absent claim has no line, and the namespace is the configured one")
    func absentClaims() throws {
        #expect(
            try Self.text(Self.identity(), namespace: "Y-") == """
                Y-Subject: s-1\r
                Y-Issuer: https://i\r
                Y-Client: c1\r
                Y-Token-Use: access\r
                Y-Expires: 17\r

                """)
    }

    /// Rows 22 and 23.
    @Test(
        "A value is percent-encoded reversibly and never starts a second line",
        arguments: [
            ("a b", "a b"), (" a ", "%20a%20"), (" ", "%20"), ("100%", "100%25"), ("%41", "%2541"),
            ("a\r\nX-Auth-Groups: x", "a%0D%0AX-Auth-Groups: x"),
            ("a\0b", "a%00b"), ("é", "%C3%A9"), ("\u{202E}x", "%E2%80%AEx"), ("a\tb", "a%09b"),
            ("a,b;c=\"d\"", "a,b;c=\"d\""),
            ("\u{7f}", "%7F"), ("😀", "%F0%9F%98%80"),
        ])
    func encoding(value: String, encoded: String) throws {
        let lines = try Self.text(Self.identity { $0.subject = value }).split(separator: "\r\n")
        #expect(lines.first.map(String.init) == "X-Auth-Subject: " + encoded)
        #expect(lines.count == 5)
    }

    /// Row 24.
    @Test("A list's elements can't be confused once joined")
    func lists() throws {
        let identity = Self.identity {
            $0.groups = ["a,b", "", " c", "d e", "é\r\n"]
            $0.scopes = ["read all", "x,y", "z"]
        }
        let text = try Self.text(identity)
        #expect(text.contains("\r\nX-Auth-Groups: a%2Cb,%20c,d e,%C3%A9%0D%0A\r\n"))
        #expect(text.contains("\r\nX-Auth-Scopes: read%20all x,y z\r\n"))
    }

    @Test("A value over 4096 encoded bytes is a fault, not a missing header")
    func tooLarge() throws {
        let fits = Self.identity { $0.groups = [String(repeating: "a", count: 4096)] }
        #expect(throws: Never.self) { try IdentityLines().lines(for: fits) }
        let over = Self.identity { $0.groups = [String(repeating: "a", count: 4096), "b"] }
        #expect(throws: IdentityError.tooLarge(header: "X-Auth-Groups")) { try IdentityLines().lines(for: over) }
        let encodedOver = Self.identity { $0.email = String(repeating: "é", count: 700) }
        #expect(throws: IdentityError.tooLarge(header: "X-Auth-Email")) { try IdentityLines().lines(for: encodedOver) }
    }

    @Test(
        "A configured claim has its header, wherever it is and whatever it holds",
        arguments: [
            (["custom:tenant"], "acme"), (["address", "country"], "DE"), (["address", "geo", "zone"], "7"),
            (["roles"], "a%2Cb,c d,%C3%A9%0D%0AX-Auth-Subject: x"), (["text"], "a%2Cb"), (["flag"], "true"),
            (["ratio"], "1.50"), (["mixed"], "x,1,{\"a\":[1%2C2]},[3%2C4]"), (["address", "geo"], "{\"zone\":7}"),
        ])
    func configuredClaims(path: [String], encoded: String) throws {
        let payload = try #require(
            JSON.parse(
                Array(
                    #"""
                    {"custom:tenant":"acme","address":{"country":"DE","geo":{"zone":7}},"text":"a,b","flag":true,
                    "roles":["a,b","","c d","é\r\nX-Auth-Subject: x",null],"ratio":1.50,"mixed":["x",1,{"a":[1,2]},[3,4]]}
                    """#.utf8)
            ).objectValue)
        let lines = IdentityLines(claims: [IdentityClaim(header: "X-Tenant", claim: ClaimPath(path))])
        let text = String(decoding: try lines.lines(for: Self.identity(), payload: payload), as: UTF8.self)
        #expect(text == (try Self.text(Self.identity())) + "X-Tenant: \(encoded)\r\n")
    }

    @Test("A configured claim that holds nothing has no header", arguments: ["absent", "null", "empty", "list", "in"])
    func emptyClaims(name: String) throws {
        let payload: JSONObject = ["null": nil, "empty": "", "list": [], "in": ["", nil]]
        let lines = IdentityLines(claims: [IdentityClaim(header: "X-Tenant", claim: ClaimPath([name]))])
        let text = String(decoding: try lines.lines(for: Self.identity(), payload: payload), as: UTF8.self)
        #expect(text == (try Self.text(Self.identity())))
    }

    @Test("Claims that are too large for a header, or for all of them, are a fault")
    func tooLargeClaims() throws {
        let claims = (0..<5).map { IdentityClaim(header: "X-\($0)", claim: ClaimPath(["c"])) }
        let payload = { (count: Int) -> JSONObject in ["c": .string(String(repeating: "a", count: count))] }
        let lines = IdentityLines(claims: claims)
        #expect(throws: Never.self) { try lines.lines(for: Self.identity(), payload: payload(3000)) }
        #expect(throws: IdentityError.tooLarge(header: "X-0")) {
            try lines.lines(for: Self.identity(), payload: payload(4097))
        }
        #expect(throws: IdentityError.tooLarge(header: "X-4")) {
            try lines.lines(for: Self.identity(), payload: payload(4000))
        }
    }

    @Test("All lines together have as many bytes as they may, and not one more")
    func longestLines() throws {
        let claims = (0..<5).map { IdentityClaim(header: "X-\($0)", claim: ClaimPath(["c\($0)"])) }
        var payload: JSONObject = [:]
        for index in 0..<4 { payload["c\(index)"] = .string(String(repeating: "a", count: 4000)) }
        let lines = IdentityLines(claims: claims)
        let rest = IdentityLines.maximumLength - (try lines.lines(for: Self.identity(), payload: payload)).count
        let count = rest - "X-4: \r\n".utf8.count
        payload["c4"] = .string(String(repeating: "a", count: count))
        #expect(try lines.lines(for: Self.identity(), payload: payload).count == IdentityLines.maximumLength)
        payload["c4"] = .string(String(repeating: "a", count: count + 1))
        #expect(throws: IdentityError.tooLarge(header: "X-4")) {
            try lines.lines(for: Self.identity(), payload: payload)
        }
    }

    @Test("An identity without a subject is a fault")
    func emptySubject() {
        #expect(throws: IdentityError.emptySubject) {
            try IdentityLines().lines(for: Self.identity { $0.subject = "" })
        }
    }

    @Test("The lines of a verified token are those of its claims, however they are spelled")
    func verifiedTokens() throws {
        let fixture = try VerifyFixture()
        let spelled = VerifyFixture.accessClaims.with("scope", nil).with("cognito:groups", nil).text(
            with: #""username":"Zoë\u0020\u2603","scope":" openid  a%b ","cognito:groups":["a,b",7,"","c\u00e9"]"#,
            replacing: "username")
        let token = try #require(
            fixture.verified(
                try fixture.token(
                    headerText: String(decoding: VerifyFixture.header.encoded(), as: UTF8.self),
                    payloadText: spelled)))
        #expect(token.username == "Zoë \u{2603}")
        #expect(token.scopes == ["openid", "a%b"])
        #expect(token.groups == ["a,b", "", "cé"])
        let stated = VerifiedToken(
            issuer: token.issuer, issuerName: token.issuerName, subject: token.subject, tokenUse: token.tokenUse,
            clientID: token.clientID, username: token.username, email: token.email,
            emailVerified: token.emailVerified, groups: token.groups, scopes: token.scopes, expires: token.expires,
            claims: token.claims, keyID: token.keyID)
        #expect(try IdentityLines().lines(for: token) == IdentityLines().lines(for: stated))
        #expect(
            String(decoding: try IdentityLines().lines(for: token), as: UTF8.self).contains(
                "X-Auth-Groups: a%2Cb,c%C3%A9\r\nX-Auth-Scopes: openid a%25b\r\n"))
    }

    @Test("What is changed in a token is what its lines say, and the rest stays")
    func changed() throws {
        let fixture = try VerifyFixture()
        let verified = try #require(fixture.verified(try fixture.token()))
        var token = verified
        token.claims["username"] = "other"
        token.email = "a@b.c"
        #expect(token.username == verified.username && token.groups == verified.groups)
        #expect(token.email == "a@b.c" && verified.email == nil)
        #expect(token.claims["username"] == "other")
    }
}

/// The caller of a request, as the tests of lines state it.
struct Identity {
    var subject: String
    var email: String?
    var emailVerified: Bool?
    var username: String?
    var groups: [String] = []
    var scopes: [String] = []
    var issuer: String
    var clientID: String
    var tokenUse: TokenUse
    var expires: Int64
}

extension IdentityLines {
    func lines(for identity: Identity, payload: JSONObject = [:]) throws(IdentityError) -> [UInt8] {
        try lines(
            for: VerifiedToken(
                issuer: identity.issuer, issuerName: "main", subject: identity.subject, tokenUse: identity.tokenUse,
                clientID: identity.clientID, username: identity.username, email: identity.email,
                emailVerified: identity.emailVerified, groups: identity.groups, scopes: identity.scopes,
                expires: identity.expires, claims: payload, keyID: "k"))
    }
}
