import Encoding
import Pipeline
import Testing

@Suite("Verify: what a token should have said")
struct VerifyDifferenceTests {
    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    private static let expectedIssuers =
        #"expected "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example" "#
        + #"or "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Other""#

    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var value: JSON?
        var isIDToken = false
        var expected: [String]

        var testDescription: String { "\(claim) \(value.map { "\($0)" } ?? "missing")" }
    }

    static let rows = [
        Row(claim: "jti", value: "other", expected: []),
        Row(
            claim: "iss", value: "http://127.0.0.1:9229/p",
            expected: [#"iss: \#(expectedIssuers), got "http://127.0.0.1:9229/p""#]),
        Row(claim: "iss", value: nil, expected: ["iss: \(expectedIssuers), got none"]),
        Row(claim: "iss", value: 7, expected: [#"iss: \#(expectedIssuers), got "7""#]),
        Row(
            claim: "client_id", value: "third",
            expected: [#"client_id: expected "1example23456789" or "second-client", got "third""#]),
        Row(
            claim: "client_id", value: nil,
            expected: [#"client_id: expected "1example23456789" or "second-client", got none"#]),
        Row(
            claim: "aud", value: ["a", "b"], isIDToken: true,
            expected: [#"aud: expected "1example23456789" or "second-client", got "["a","b"]""#]),
        Row(claim: "token_use", value: "refresh", expected: [#"token_use: expected "access" or "id", got "refresh""#]),
        Row(
            claim: "exp", value: 1_779_999_000,
            expected: ["exp: expected after 2026-05-28T20:25:40Z, got 2026-05-28T20:10:00Z, which is 1000 s off"]),
        Row(claim: "exp", value: "soon", expected: [#"exp: expected "a time", got "soon""#]),
        Row(
            claim: "nbf", value: 1_780_000_100,
            expected: ["nbf: expected until 2026-05-28T20:27:40Z, got 2026-05-28T20:28:20Z, which is 100 s off"]),
        Row(
            claim: "iat", value: 1_780_000_061,
            expected: ["iat: expected until 2026-05-28T20:27:40Z, got 2026-05-28T20:27:41Z, which is 61 s off"]),
        Row(claim: "iat", value: 1_780_000_060, expected: []),
    ]

    @Test("Each claim is reported with expected and got, and a time with how far it is off", arguments: rows)
    func claims(row: Row) throws {
        let claims = row.isIDToken ? VerifyFixture.idClaims : VerifyFixture.accessClaims
        let token = try fixture.token(claims: claims.with(row.claim, row.value))
        #expect(differences(token) == row.expected)
        // There is a difference exactly where the gateway refuses the token.
        #expect((fixture.reason(token) == nil) == row.expected.isEmpty)
    }

    @Test("All differences are reported at once, also from the only issuer there is")
    func all() throws {
        let claims = VerifyFixture.accessClaims.with("iss", "x").with("client_id", "y").with("token_use", "id")
            .with("exp", 1)
        let found = differences(try fixture.token(claims: claims), issuers: [VerifyFixture.pool])
        #expect(found.map { $0.prefix { $0 != ":" } } == ["iss", "aud", "exp"])
        // Of two issuers nobody knows which one is meant.
        #expect(differences(try fixture.token(claims: claims)).map { $0.prefix { $0 != ":" } } == ["iss"])
    }

    @Test("A route's kind of token counts, and a key and an algorithm of the header are reported")
    func headers() throws {
        let accepting = TokenAcceptance(tokenUses: [.access])
        let identity = try fixture.token(claims: VerifyFixture.idClaims)
        #expect(differences(identity, accepting: accepting) == [#"token_use: expected "access", got "id""#])
        let unknown = try fixture.token(header: ["kid": "new", "alg": "RS256"])
        #expect(differences(unknown) == [#"kid: expected "access-key=" or "id-key=", got "new""#])
        let other = try fixture.token(header: VerifyFixture.header.with("alg", "RS512"))
        #expect(differences(other) == [#"alg: expected "RS256", got "RS512""#])
    }

    @Test("A claim drives no terminal and fills no log, and text that is no token has no differences")
    func hostile() throws {
        let text = "\u{1B}[2J" + String(repeating: "x", count: 1000)
        let long = try fixture.token(claims: VerifyFixture.accessClaims.with("client_id", .string(text)))
        let found = try #require(differences(long).first)
        #expect(found.contains("\u{FFFD}[2Jxx") && found.hasSuffix("x…\"") && found.count < 300)
        for text in ["", "x", "a.b.c", "e30.W10.AA"] { #expect(differences(text) == []) }
        let token = try fixture.token(claims: VerifyFixture.accessClaims.with("exp", -9_007_199_254_740_992))
        #expect(differences(token, now: .max - 60).count == 1)
    }

    private func differences(
        _ token: String, issuers: [Issuer] = [VerifyFixture.pool, VerifyFixture.otherPool],
        accepting: TokenAcceptance = TokenAcceptance(tokenUses: [.access, .id]), now: Int64 = VerifyFixture.now
    ) -> [String] {
        TokenVerifier(issuers: issuers).differences(
            of: token.utf8, accepting: accepting, keys: { [fixture.keySet, fixture.otherKeySet][$0] }, now: now
        ).map(\.description)
    }
}
