import Encoding
import Pipeline
import Testing

@Suite("Policy: requirements")
struct PolicyRequirementsTests {
    static let claims: JSONObject = [
        "custom:tenant": "acme", "level": 3, "ratio": 1.5, "flag": true, "nothing": nil,
        "roles": ["user", "admin"], "address": ["country": "DE", "geo": ["zone": 7]], "dotted.name": "x",
    ]

    static func token(_ change: (inout VerifiedToken) -> Void = { _ in }) -> VerifiedToken {
        var token = VerifiedToken(
            issuer: "https://i", issuerName: "main", subject: "s-1", tokenUse: .access, clientID: "c1",
            groups: ["staff", "beta"], scopes: ["openid", "orders/read"], expires: 2_000, issuedAt: 1_000,
            claims: claims, keyID: "k")
        change(&token)
        return token
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var requirements: Requirements
        var denial: PolicyDenial?
        var testDescription: String { name }

        init(_ name: String, _ requirements: Requirements, _ denial: PolicyDenial? = nil) {
            self.name = name
            self.requirements = requirements
            self.denial = denial
        }

        static func claim(
            _ path: [String], _ test: ClaimCondition.Test, _ denial: PolicyDenial? = .claimMismatch
        ) -> Case {
            let requirements = Requirements(claims: [ClaimCondition(ClaimPath(path), test)])
            return Case("\(path) \(test)", requirements, denial)
        }
    }

    @Test(
        "Scopes and groups are held byte for byte",
        arguments: [
            Case("nothing", Requirements()),
            Case("one scope", Requirements(allScopes: ["openid"])),
            Case("both scopes", Requirements(allScopes: ["orders/read", "openid"])),
            Case("all but one", Requirements(allScopes: ["openid", "orders/write"]), .insufficientScope),
            Case("any scope", Requirements(anyScope: ["orders/write", "orders/read"])),
            Case("none of any", Requirements(anyScope: ["orders/write", "orders"]), .insufficientScope),
            Case("all without any", Requirements(allScopes: ["openid"], anyScope: ["x"]), .insufficientScope),
            Case("a prefix", Requirements(allScopes: ["orders"]), .insufficientScope),
            Case("other case", Requirements(allScopes: ["OpenID"]), .insufficientScope),
            Case("one group", Requirements(anyGroup: ["admin", "staff"])),
            Case("both groups", Requirements(allGroups: ["beta", "staff"])),
            Case("a missing group", Requirements(allGroups: ["beta", "admin"]), .groupMissing),
            Case("no such group", Requirements(anyGroup: ["admin", "Staff"]), .groupMissing),
            Case("scopes before groups", Requirements(allScopes: ["x"], anyGroup: ["y"]), .insufficientScope),
        ])
    func lists(_ value: Case) {
        #expect(value.requirements.lastingDenial(of: Self.token()) == value.denial)
    }

    @Test(
        "Claims are found by their path and compared as text",
        arguments: [
            Case.claim(["custom:tenant"], .oneOf(["acme"]), nil),
            .claim(["custom:tenant"], .oneOf(["other", "acme"]), nil),
            .claim(["custom:tenant"], .oneOf(["Acme"])),
            .claim(["custom:tenant"], .oneOf(["acm"])),
            .claim(["custom:tenant"], .present, nil),
            .claim(["nothing"], .present),
            .claim(["absent"], .present),
            .claim(["absent"], .oneOf(["acme"])),
            .claim(["level"], .oneOf(["3"]), nil),
            .claim(["level"], .oneOf(["3.0"])),
            .claim(["level"], .oneOf(["03"]), nil),
            .claim(["ratio"], .oneOf(["1.5"]), nil),
            .claim(["flag"], .oneOf(["true"]), nil),
            .claim(["flag"], .oneOf(["True"])),
            .claim(["roles"], .oneOf(["admin"]), nil),
            .claim(["roles"], .oneOf(["root"])),
            .claim(["roles"], .oneOf(["user,admin"])),
            .claim(["address", "country"], .oneOf(["DE"]), nil),
            .claim(["address", "geo", "zone"], .oneOf(["7"]), nil),
            .claim(["address"], .present, nil),
            .claim(["address"], .oneOf(["DE"])),
            .claim(["address.country"], .present),
            .claim(["custom:tenant", "x"], .present),
            .claim(["dotted.name"], .oneOf(["x"]), nil),
        ])
    func claims(_ value: Case) {
        #expect(value.requirements.lastingDenial(of: Self.token()) == value.denial)
    }

    @Test("Of several claims each must be as it should")
    func everyClaim() {
        let holds = ClaimCondition(ClaimPath(["level"]), .oneOf(["3"]))
        let fails = ClaimCondition(ClaimPath(["level"]), .oneOf(["4"]))
        for claims in [[holds, fails], [fails, holds]] {
            #expect(Requirements(claims: claims).lastingDenial(of: Self.token()) == .claimMismatch)
        }
        #expect(Requirements(claims: [holds, holds]).lastingDenial(of: Self.token()) == nil)
    }

    @Test("Canonically equivalent text is other text")
    func composedCharacters() {
        let token = Self.token {
            $0.groups = ["caf\u{e9}"]
            $0.claims = ["t": "caf\u{e9}"]
        }
        let decomposed = "cafe\u{301}"
        #expect(Requirements(anyGroup: [decomposed]).lastingDenial(of: token) == .groupMissing)
        let condition = ClaimCondition(ClaimPath(["t"]), .oneOf([decomposed]))
        #expect(Requirements(claims: [condition]).lastingDenial(of: token) == .claimMismatch)
    }

    @Test("An e-mail address counts as verified only where the token says so", arguments: [nil, false, true])
    func emailVerified(flag: Bool?) {
        let token = Self.token { $0.emailVerified = flag }
        let denial = Requirements(emailVerified: true).lastingDenial(of: token)
        #expect(denial == (flag == true ? nil : .emailNotVerified))
    }

    @Test(
        "The age of a sign-in is counted from auth_time",
        arguments: [
            ("700", Int64(1_000), true), ("700", 1_001, false), ("700.9", 1_000, true), ("\"700\"", 800, false),
            ("null", 800, false), ("1e400", 800, false), ("-1", 200, true), ("-1", 300, false),
            // Later than the token itself.
            ("1001", 999, false), ("1000", 999, true), ("1001", 1_001, true),
        ] as [(String, Int64, Bool)])
    func maximumAge(authTime: String, now: Int64, isRecent: Bool) throws {
        let claims = try #require(JSON.parse(Array("{\"auth_time\":\(authTime)}".utf8)).objectValue)
        let requirements = Requirements(maximumAge: 300)
        #expect(requirements.isRecent(Self.token { $0.claims = claims }, now: now) == isRecent)
        #expect(Requirements().isRecent(Self.token { $0.claims = claims }, now: now))
    }

    @Test("Without auth_time nobody knows how old a sign-in is")
    func noAuthTime() {
        #expect(!Requirements(maximumAge: 300).isRecent(Self.token { $0.claims = [:] }, now: 1_000))
    }
}
