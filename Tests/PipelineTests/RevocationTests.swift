import Cryptography
import Encoding
import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Revocation")
struct RevocationTests {
    static let issuer = VerifyFixture.pool.issuer
    static let subject = "6f1c2a4e-0000-4000-8000-1234567890ab"
    static let ends: Int64 = 1_790_000_000
    static let claims = VerifyFixture.accessClaims.with("origin_jti", "origin").with("sid", "session")

    let tokens: VerifyFixture

    init() throws { tokens = try VerifyFixture() }

    static func list(_ targets: [Revocation.Target], issuer: String = issuer) -> RevocationList {
        RevocationList.empty.adding(targets.map { Revocation(issuer: issuer, $0, endsAt: ends) })
    }

    // MARK: Which tokens are meant

    // The claims say auth_time 1779999000, iat 1780000000, jti 7d1f.
    static let meant: [(Revocation.Target, Bool)] = [
        (.originID("origin"), true), (.originID("Origin"), false), (.originID("7d1f"), false),
        (.tokenID("7d1f"), true), (.tokenID("7d1"), false), (.tokenID("origin"), false),
        (.session("session"), true), (.session("origin"), false),
        (.subject(subject, before: 1_779_999_000), true), (.subject(subject, before: 1_779_998_999), false),
        (.subject(subject, before: 1_790_000_000), true), (.subject("7d1f", before: .max), false),
        (.subject("", before: .max), false),
    ]

    @Test("A revocation means the tokens whose claim is the same bytes, and those of one issuer only", arguments: meant)
    func targets(target: Revocation.Target, expected: Bool) throws {
        let token = try #require(tokens.verified(tokens.token(claims: Self.claims)))
        #expect(Self.list([target]).revokes(token) == expected)
        #expect(!Self.list([target], issuer: VerifyFixture.otherPool.issuer).revokes(token))
        #expect(!Self.list([target], issuer: Self.issuer + "/").revokes(token))
        #expect(!RevocationList.empty.revokes(token))
    }

    static let times: [(name: String, JSONObject, before: Int64, Bool)] = [
        ("signed in later, issued later", claims, 1_779_998_999, false),
        ("refreshed since: issued later, signed in before", claims, 1_779_999_500, true),
        ("no auth_time, issued later", claims.with("auth_time", nil), 1_779_999_999, false),
        ("no auth_time, issued at the same second", claims.with("auth_time", nil), 1_780_000_000, true),
        ("auth_time is no number", claims.with("auth_time", "soon"), 1_779_999_999, false),
        ("neither", claims.with("auth_time", nil).with("iat", nil), 0, true),
    ]

    @Test("A subject's sign-in decides, else when the token was issued; who says neither is meant", arguments: times)
    func subjectTimes(name: String, claims: JSONObject, before: Int64, expected: Bool) throws {
        let token = try #require(tokens.verified(tokens.token(claims: claims)))
        #expect(Self.list([.subject(Self.subject, before: before)]).revokes(token) == expected)
    }

    @Test("What is revoked twice is revoked for as much and as long as either says, in whatever order")
    func twice() throws {
        let token = try #require(tokens.verified(tokens.token(claims: Self.claims)))
        let subject = { (before: Int64, endsAt: Int64) in
            Revocation(issuer: Self.issuer, .subject(Self.subject, before: before), endsAt: endsAt)
        }
        // Enough to settle what came before.
        let others = { (start: Int) in
            (start..<start + 400).map { Revocation(issuer: Self.issuer, .tokenID("other-\($0)"), endsAt: Self.ends) }
        }
        let (short, long) = (subject(1_779_999_500, 2_000), subject(1_779_998_000, 9_000))
        for (first, second) in [(short, long), (long, short)] {
            for list in [
                RevocationList.empty.adding([first, second]), RevocationList.empty.adding([first]).adding([second]),
                RevocationList.empty.adding([first]).adding(others(0)).adding([second]),
                RevocationList.empty.adding([first]).adding(others(0)).adding([second]).adding(others(400)),
            ] {
                #expect(list.count % 400 == 1)
                #expect(list.revokes(token))
                #expect(list.removingEnded(now: 8_999).revokes(token))
                #expect(!list.removingEnded(now: 9_000).revokes(token))
                #expect(list.removingEnded(now: 9_000).count == list.count - 1)
            }
        }
    }

    static let lists: [[Revocation.Target]] = [
        [.originID("a"), .tokenID("b"), .session("c"), .subject("d", before: 7)],
        [.otherSignIns("d", before: 7, sparing: "o")],
        [.otherSignIns("d", before: 7, sparing: "o"), .subject("d", before: 5)],
        [.otherSignIns("d", before: 9, sparing: "o"), .otherSignIns("d", before: 7, sparing: "p")],
    ]

    @Test("A list is told by its revocations, and lacks those that mean more than it does", arguments: lists)
    func roundTrip(targets: [Revocation.Target]) {
        let list = Self.list(targets)
        let copy = RevocationList.empty.adding(list.revocations(notIn: .empty))
        #expect(list.revocations(notIn: copy).isEmpty && copy.revocations(notIn: list).isEmpty)
        #expect(copy.count == list.count)
        for target in targets {
            #expect(copy.includes(Revocation(issuer: Self.issuer, target, endsAt: Self.ends)))
            #expect(!copy.includes(Revocation(issuer: Self.issuer, target, endsAt: Self.ends + 1)))
            #expect(!copy.includes(Revocation(issuer: Self.issuer + "/", target, endsAt: Self.ends)))
        }
        let wider = Revocation(issuer: Self.issuer, .subject("d", before: 10), endsAt: Self.ends)
        #expect(!list.includes(wider))
        #expect(list.adding([wider]).revocations(notIn: list) == [wider])
    }

    // The claims say auth_time 1779999000.
    static let spared: [(name: String, [Revocation.Target], Bool)] = [
        ("the spared sign-in", [.otherSignIns(subject, before: 1_780_000_000, sparing: "origin")], false),
        ("another one", [.otherSignIns(subject, before: 1_780_000_000, sparing: "Origin")], true),
        ("a later one", [.otherSignIns(subject, before: 1_779_998_999, sparing: "other")], false),
        (
            "spared by the second, meant by the first",
            [
                .otherSignIns(subject, before: 1_779_999_000, sparing: "other"),
                .otherSignIns(subject, before: 1_780_000_000, sparing: "origin"),
            ], true
        ),
        (
            "later than what means all",
            [
                .subject(subject, before: 1_779_998_999),
                .otherSignIns(subject, before: 1_780_000_000, sparing: "origin"),
            ], false
        ),
        (
            "earlier than what means all",
            [
                .subject(subject, before: 1_779_999_000),
                .otherSignIns(subject, before: 1_780_000_000, sparing: "origin"),
            ], true
        ),
        (
            "spared twice",
            [
                .otherSignIns(subject, before: 1_779_999_500, sparing: "origin"),
                .otherSignIns(subject, before: 1_780_000_000, sparing: "origin"),
            ], false
        ),
        (
            "spared at the same second as all are meant",
            [
                .otherSignIns(subject, before: 1_780_000_000, sparing: "origin"),
                .subject(subject, before: 1_780_000_000),
            ], true
        ),
    ]

    @Test("One sign-in can be spared, unless another revocation means it, in whatever order", arguments: spared)
    func sparing(name: String, targets: [Revocation.Target], expected: Bool) throws {
        let token = try #require(tokens.verified(tokens.token(claims: Self.claims)))
        for order in [targets, targets.reversed()] {
            #expect(Self.list(order).revokes(token) == expected)
            #expect(Self.list(order).count == 1)
        }
        let without = try #require(tokens.verified(tokens.token(claims: Self.claims.with("origin_jti", nil))))
        let isMeant = targets.contains { target in
            switch target {
            case .subject(_, let before), .otherSignIns(_, let before, _): before >= 1_779_999_000
            default: false
            }
        }
        #expect(Self.list(targets).revokes(without) == isMeant)
    }

    @Test("A sign-in without origin_jti is spared by its sid, and one with it is not")
    func sparedSession() throws {
        let list = Self.list([.otherSignIns(Self.subject, before: 1_780_000_000, sparing: "session")])
        for (origin, isMeant) in [(nil, false), ("origin", true)] as [(JSON?, Bool)] {
            let token = try #require(tokens.verified(tokens.token(claims: Self.claims.with("origin_jti", origin))))
            #expect(list.revokes(token) == isMeant)
        }
    }

    @Test("Text is compared by its bytes, and no value can be another's with a part of the issuer")
    func bytes() throws {
        let token = try #require(tokens.verified(tokens.token(claims: Self.claims.with("jti", "\u{e9}"))))
        #expect(Self.list([.tokenID("\u{e9}")]).revokes(token))
        #expect(!Self.list([.tokenID("e\u{301}")]).revokes(token))
        #expect(RevocationKey(.tokenID, "bc", issuer: "a") != RevocationKey(.tokenID, "c", issuer: "ab"))
    }

    // MARK: The list

    @Test("Of several for the same tokens what any means is meant, and until the last of them ends")
    func merged() throws {
        let token = try #require(tokens.verified(tokens.token(claims: Self.claims)))
        func subject(_ before: Int64, _ endsAt: Int64) -> Revocation {
            Revocation(issuer: Self.issuer, .subject(Self.subject, before: before), endsAt: endsAt)
        }
        let list = RevocationList.empty.adding([subject(1_790_000_000, 10), subject(5, 30)]).adding([subject(6, 20)])
        #expect(list.count == 1 && list.revokes(token))
        #expect(list.removingEnded(now: 29).revokes(token))
        #expect(list.removingEnded(now: 30).isEmpty)
    }

    @Test("However many there are and in whatever order they came, each one is found")
    func many() throws {
        var list = RevocationList.empty
        for index in 0..<3000 {
            list = list.adding([Revocation(issuer: Self.issuer, .tokenID("\(index)"), endsAt: Int64(index))])
        }
        #expect(list.count == 3000 && list.generation == 3000)
        func isFound(_ index: Int, in list: RevocationList) -> Bool {
            list.revokes(
                VerifiedToken(
                    issuer: Self.issuer, issuerName: "pool", subject: "s", tokenUse: .access, clientID: "c",
                    expires: 1, claims: ["jti": .string("\(index)")], keyID: "k"))
        }
        #expect((0..<3000).allSatisfy { isFound($0, in: list) })
        #expect(!isFound(3000, in: list))
        let left = list.removingEnded(now: 1500)
        #expect(left.count == 1499 && !isFound(1500, in: left) && isFound(1501, in: left))
        #expect(left.generation == list.generation)
        #expect(left.removingEnded(now: 1500) === left)
    }

    // MARK: At the gate

    @Test("A token is refused from the next request on: one never seen, and one that was let in before")
    func gate() throws {
        let fixture = try GateFixture()
        let bearer = [("Authorization", "Bearer \(try tokens.token(claims: Self.claims))")]
        let passed = Outcome.forward(route: "required", upstream: "api", target: "/required", subject: Self.subject)
        #expect(try fixture.outcome("/required", bearer) == passed)
        #expect(try fixture.outcome("/required", bearer) == passed)
        fixture.cache.revocations = Self.list([.tokenID("another")])
        #expect(try fixture.outcome("/required", bearer) == passed)
        #expect(fixture.cache.missCount == 1)
        fixture.cache.revocations = fixture.cache.revocations.adding(
            [Revocation(issuer: Self.issuer, .originID("origin"), endsAt: Self.ends)])
        for (path, route) in [("/required", "required"), ("/optional", "optional"), ("/me", "me")] {
            let refused = Outcome.unauthorized("token-revoked", route: route)
            #expect(try fixture.outcome(path, bearer) == refused)
            #expect(try fixture.outcome(path, bearer) == refused)
            let fresh = try GateFixture()
            fresh.cache.revocations = fixture.cache.revocations
            #expect(try fresh.outcome(path, bearer) == refused)
        }
        // Public routes look at no token.
        guard case .forward = try fixture.outcome("/public/a", bearer) else { Issue.record("refused"); return }
    }

    @Test("While nothing changes, a token that was let in is not looked at again")
    func unchanged() throws {
        let fixture = try GateFixture()
        fixture.cache.revocations = Self.list([.tokenID("another")])
        let text = "Bearer \(try tokens.token(claims: Self.claims))"
        _ = try fixture.outcome("/required", [("Authorization", text)])
        // A list of the same generation that means the token: only who looks at it would see.
        fixture.cache.revocations = Self.list([.tokenID("7d1f")])
        let outcome = try fixture.outcome("/required", [("Authorization", text)])
        #expect(outcome == .forward(route: "required", upstream: "api", target: "/required", subject: Self.subject))
    }

    @Test("A revoked token that is respelled with the other of its two signatures is still revoked (threats 33)")
    func twin() throws {
        let key = try P256SigningKey.generate()
        var pool = VerifyFixture.pool
        pool.algorithms = [.es256]
        let set = try KeySet(
            jwks: AssertionKeys(signing: AssertionKey(key), others: []).document, algorithms: [.es256], generation: 1)
        let header: JSONObject = ["alg": "ES256", "kid": .string(key.thumbprint)]
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(Self.claims.encoded())
        let signature = try key.sign(Array(signed.utf8))
        let twin = Array(signature[..<32]) + Self.negated(Array(signature[32...]))
        let gate = Gate(
            routes: try RouteTable([
                Route(name: "r", pattern: try RoutePattern("/r"), access: .required, destination: .upstream("api"))
            ]), verifier: TokenVerifier(issuers: [pool]))
        let cache = TokenCache()
        func outcome(_ signature: [UInt8]) throws -> Outcome {
            let token = signed + "." + Base64URL.encode(signature)
            let request = try GateFixture.request("/r", [("Authorization", "Bearer \(token)")])
            let context = RequestContext(
                peer: "192.0.2.1", scheme: "https", requestID: "i",
                trace: try #require(TraceContext(parsing: GateFixture.traceparent)), now: VerifyFixture.now)
            return Outcome(gate.decide(request, context, cache: cache, keySets: [set]), gate)
        }
        let passed = Outcome.forward(route: "r", upstream: "api", target: "/r", subject: Self.subject)
        // Both are valid spellings: without revocation both pass.
        #expect(try outcome(signature) == passed)
        #expect(try outcome(twin) == passed)
        cache.revocations = Self.list([.tokenID("7d1f")])
        let refused = Outcome.unauthorized("token-revoked", route: "r")
        #expect(try outcome(signature) == refused)
        #expect(try outcome(twin) == refused)
    }

    /// n − s on P-256.
    static func negated(_ number: [UInt8]) -> [UInt8] {
        let order = P256Order.bytes
        var result = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(number[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: difference)
        }
        return result
    }

    /// FIPS 186-4, D.1.2.3.
    enum P256Order {
        static let bytes: [UInt8] = [
            0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
        ]
    }
}

@Suite("Superseded tokens")
struct SupersededTokensTests {
    static let issuer = RevocationTests.issuer

    static func token(_ session: String, rotation: JSON?, subject: String = "ada") -> VerifiedToken {
        var claims: JSONObject = ["sid": .string(session)]
        claims[RevocationList.rotationClaim] = rotation
        return VerifiedToken(
            issuer: issuer, issuerName: "i", subject: subject, tokenUse: .session, clientID: "c", expires: 100,
            claims: claims, keyID: "k")
    }

    static func superseded(_ session: String, _ rotation: Int64, endsAt: Int64 = 100) -> SupersededTokens {
        SupersededTokens(issuer: issuer, sessionID: session, rotation: rotation, endsAt: endsAt)
    }

    @Test(
        "Tokens before the newest one's number are meant, those of other sessions and without a number are not",
        arguments: [
            ("s", 0, true), ("s", 2, true), ("s", 3, false), ("s", 4, false), ("t", 0, false), ("s", nil, false),
        ] as [(String, Int?, Bool)])
    func meant(session: String, rotation: Int?, expected: Bool) {
        let list = RevocationList.empty.superseding([Self.superseded("s", 3)], limit: 10)
        let token = Self.token(session, rotation: rotation.map { .number(JSONNumber(Int64($0))) })
        #expect(list.revokes(token) == expected)
        #expect(!list.isRevoked(token), "who refreshes with it is judged elsewhere")
        #expect(list.count == 0 && list.supersededCount == 1 && !list.isEmpty)
    }

    @Test("A session has one entry however often it is refreshed, and a step back changes nothing")
    func oneEntry() {
        var list = RevocationList.empty
        for rotation in [1, 2, 5, 3] as [Int64] {
            list = list.superseding([Self.superseded("s", rotation)], limit: 10)
        }
        #expect(list.supersededCount == 1)
        #expect(list.revokes(Self.token("s", rotation: 4)))
        #expect(!list.revokes(Self.token("s", rotation: 5)))
    }

    @Test("Beyond their share those that end soonest are forgotten, and no revocation is")
    func share() {
        var list = RevocationList.empty.adding(
            (0..<50).map { Revocation(issuer: Self.issuer, .session("r\($0)"), endsAt: 1) })
        list = list.superseding((0..<2000).map { Self.superseded("s\($0)", 1, endsAt: Int64($0)) }, limit: 800)
        #expect(list.count == 50)
        #expect(list.supersededCount == 700)
        #expect(!list.revokes(Self.token("s1299", rotation: 0)))
        #expect(list.revokes(Self.token("s1300", rotation: 0)))
        for number in 0..<50 { #expect(list.revokes(Self.token("r\(number)", rotation: nil))) }
        #expect(list.superseding([], limit: 0).supersededCount == 0)
        #expect(list.superseding([], limit: 0).count == 50)
    }

    @Test("What has ended is forgotten, and both are counted rightly then")
    func ends() {
        let list = RevocationList.empty
            .adding([Revocation(issuer: Self.issuer, .session("a"), endsAt: 20)])
            .superseding([Self.superseded("s", 1, endsAt: 10), Self.superseded("t", 1, endsAt: 30)], limit: 10)
        let left = list.removingEnded(now: 15)
        #expect(left.count == 1 && left.supersededCount == 1)
        #expect(left.revokes(Self.token("t", rotation: 0)))
        let none = list.removingEnded(now: 40)
        #expect(none.isEmpty)
    }

    @Test("A cached token ends at its next use once another has taken its place")
    func generation() {
        let list = RevocationList.empty
        #expect(list.superseding([Self.superseded("s", 1)], limit: 10).generation != list.generation)
    }
}
