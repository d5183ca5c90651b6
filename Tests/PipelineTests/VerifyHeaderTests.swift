import Cryptography
import Encoding
import Pipeline
import Testing

/// The numbers in the names are rows of the threat list: what a token's form and header can try.
@Suite("Verify: form and header")
struct VerifyHeaderTests {
    let fixture: VerifyFixture

    init() throws { fixture = try VerifyFixture() }

    @Test(
        "Row 1: No spelling of alg none is accepted, with or without a signature",
        arguments: [
            "none", "None", "NONE", "nOnE", "none ", " none", "", "null",
        ])
    func algorithmNone(name: String) throws {
        let header = VerifyFixture.header.with("alg", .string(name))
        let signed = try fixture.token(header: header)
        #expect(fixture.reason(signed) == .algorithmNotAllowed)
        let unsigned = signed.prefix(through: signed.lastIndex(of: ".") ?? signed.startIndex)
        #expect(fixture.reason(String(unsigned)) == .badSignature)
    }

    @Test("Row 2: RS256 with an empty signature is refused")
    func emptySignature() throws {
        let token = try fixture.token()
        let unsigned = token.prefix(through: try #require(token.lastIndex(of: ".")))
        #expect(fixture.reason(String(unsigned)) == .badSignature)
    }

    @Test("Row 3: HS256 keyed with the public key is refused")
    func publicKeyAsSecret() throws {
        let jwk = VerifyFixture.jwk(fixture.key, id: VerifyFixture.keyID)
        let secrets = [
            fixture.key.modulus, Array(Base64URL.encode(fixture.key.modulus).utf8), jwk.encoded(),
        ]
        for secret in secrets {
            for algorithm in ["HS256", "RS256"] {
                let header = VerifyFixture.header.with("alg", .string(algorithm))
                let signed =
                    Base64URL.encode(header.encoded()) + "."
                    + Base64URL.encode(VerifyFixture.accessClaims.encoded())
                let code = HMACSHA256.authenticationCode(for: Array(signed.utf8), key: secret)
                let reason = fixture.reason("\(signed).\(Base64URL.encode(code))")
                #expect(reason == (algorithm == "HS256" ? .algorithmNotAllowed : .badSignature))
            }
        }
    }

    static let algorithms: [JSON?] = [
        "RS384", "RS512", "PS256", "ES256", "EdDSA", "HS256", "rs256", "RS256 ", "RS256\u{0}", nil, .null, 256, true,
        ["RS256"], [:],
    ]

    @Test("Row 4, 5: Only the issuer's own algorithm, as a string and exactly so, is accepted", arguments: algorithms)
    func algorithm(value: JSON?) throws {
        let token = try fixture.token(header: VerifyFixture.header.with("alg", value))
        #expect(fixture.reason(token) == .algorithmNotAllowed)
    }

    static let strangeKeyIDs = [
        "../../../../dev/null", "/dev/null", "' OR 1=1 --", "access-key=\r\nX: y", "access-key=\u{0}", "ACCESS-KEY=",
        "access-key", "access-key= ", "|/bin/true", String(repeating: "k", count: 256),
    ]

    @Test("Row 6: A strange kid is only an unknown one", arguments: strangeKeyIDs)
    func strangeKeyID(id: String) throws {
        let token = try fixture.token(header: VerifyFixture.header.with("kid", .string(id)))
        guard case .needsKeys(issuerIndex: 0, let keyID) = fixture.verdict(token) else {
            Issue.record("not taken for an unknown key")
            return
        }
        #expect(keyID == id)
    }

    @Test(
        "Row 6: A kid that is too long, empty, missing or no string is refused",
        arguments: [
            .string(String(repeating: "k", count: 257)), .string(String(repeating: "k", count: 5000)), "", nil, .null,
            1,
            ["access-key="],
        ] as [JSON?])
    func invalidKeyID(value: JSON?) throws {
        let token = try fixture.token(header: VerifyFixture.header.with("kid", value))
        #expect(fixture.reason(token) == .keyIDInvalid)
    }

    @Test("Row 7: Each unknown kid asks for keys, and so does an issuer without a key set")
    func unknownKeys() throws {
        let token = try fixture.token()
        let verifier = TokenVerifier(issuers: [VerifyFixture.otherPool, VerifyFixture.pool])
        let verdict = verifier.verify(
            token.utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in nil }, now: VerifyFixture.now)
        guard case .needsKeys(issuerIndex: 1, keyID: VerifyFixture.keyID) = verdict else {
            Issue.record("\(verdict)")
            return
        }
    }

    static let refusedHeaders: [(row: Int, name: String, value: JSON, reason: RejectReason)] = [
        (8, "jwk", ["kty": "RSA"], .keyInHeader), (8, "jwk", nil, .keyInHeader), (8, "x5c", ["MII"], .keyInHeader),
        (9, "jku", "https://127.0.0.1:1/jwks", .keyInHeader), (9, "x5u", "https://127.0.0.1:1/x", .keyInHeader),
        (10, "crit", ["exp"], .criticalHeader), (10, "crit", [], .criticalHeader), (10, "crit", nil, .criticalHeader),
        (10, "crit", ["b64"], .criticalHeader), (11, "b64", false, .unencodedPayload),
        (11, "b64", true, .unencodedPayload), (32, "typ", "dpop+jwt", .typeNotAllowed),
        (32, "typ", "logout+jwt", .typeNotAllowed), (32, "typ", "JWE", .typeNotAllowed),
        (32, "typ", "", .typeNotAllowed),
        (32, "typ", nil, .typeNotAllowed), (32, "typ", 1, .typeNotAllowed), (32, "typ", ["JWT"], .typeNotAllowed),
        (32, "typ", "application/", .typeNotAllowed), (32, "typ", "text/jwt", .typeNotAllowed),
    ]

    @Test(
        "Row 8–11, 32: Keys, critical parameters and other kinds in the header are refused", arguments: refusedHeaders)
    func refusedHeader(row: Int, name: String, value: JSON, reason: RejectReason) throws {
        let token = try fixture.token(header: VerifyFixture.header.with(name, value))
        #expect(fixture.reason(token) == reason)
    }

    @Test(
        "Row 32: The kinds of JWT that give access are accepted",
        arguments: [
            "JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "Application/at+jwt",
        ])
    func acceptedType(name: String) throws {
        let token = try fixture.token(header: VerifyFixture.header.with("typ", .string(name)).with("other", [1]))
        #expect(fixture.verified(token) != nil)
    }

    @Test(
        "Row 12: A repeated header parameter is refused, also when it is escaped",
        arguments: [
            #""alg":"RS256""#, #""\u0061lg":"none""#, #""kid":"x""#, #""k\u0069d":"access-key=""#,
        ])
    func repeatedHeader(member: String) throws {
        let token = try fixture.token(
            headerText: VerifyFixture.header.text(with: member, replacing: ""),
            payloadText: String(decoding: VerifyFixture.accessClaims.encoded(), as: UTF8.self))
        #expect(fixture.reason(token) == .malformedHeader)
    }

    static let notHeaders = [
        "", "[]", "null", "\"RS256\"", "\u{feff}{\"alg\":\"RS256\",\"kid\":\"access-key=\"}",
        "{\"alg\":\"RS256\",\"kid\":\"access-key=\"}}", "{\"alg\":\"RS256\",\"kid\":\"access-key=\"}\u{0}",
        "{'alg':'RS256','kid':'access-key='}", "{\"alg\":\"RS256\",\"kid\":\"access-key=\",}",
    ]

    @Test("Row 12: What isn't one strict JSON object is no header and no payload", arguments: notHeaders)
    func malformedJSON(text: String) throws {
        let header = String(decoding: VerifyFixture.header.encoded(), as: UTF8.self)
        let claims = String(decoding: VerifyFixture.accessClaims.encoded(), as: UTF8.self)
        #expect(fixture.reason(try fixture.token(headerText: text, payloadText: claims)) == .malformedHeader)
        #expect(fixture.reason(try fixture.token(headerText: header, payloadText: text)) == .malformedPayload)
    }

    @Test("Row 25: Every other spelling of the base64 is refused")
    func spelling() throws {
        let token = try fixture.token()
        let parts = token.split(separator: ".").map(String.init)
        let spellings: [(String) -> String] = [
            { $0 + "=" }, { $0 + "==" }, { $0 + "\n" }, { " " + $0 }, { $0 + " " }, { $0 + "\u{0}" }, { $0 + "A" },
            { $0.prefix(8) + "\n" + $0.dropFirst(8) }, { $0.prefix(8) + "%2B" + $0.dropFirst(8) },
            { $0.prefix(8) + "é" + $0.dropFirst(8) }, { $0.prefix(8) + "+/" + $0.dropFirst(10) },
        ]
        for index in parts.indices {
            for (number, respell) in spellings.enumerated() {
                var changed = parts
                changed[index] = respell(changed[index])
                #expect(
                    fixture.verified(changed.joined(separator: ".")) == nil, "part \(index), spelling \(number)")
            }
        }
    }

    @Test("Row 25: Trailing bits that aren't zero are refused")
    func trailingBits() throws {
        // 256 bytes leave four bits over in the last character.
        let token = try fixture.token()
        let last = try #require(token.last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let value = try #require(alphabet.firstIndex(of: last))
        #expect(value.isMultiple(of: 16))
        for bits in 1..<16 {
            #expect(fixture.reason(token.dropLast() + String(alphabet[value + bits])) == .malformedToken)
        }
    }

    @Test("Row 26: Only three segments make a token")
    func segments() throws {
        let token = try fixture.token()
        let parts = token.split(separator: ".").map(String.init)
        let others = [
            "", ".", "..", "...", "....", parts[0], parts[0] + "." + parts[1], token + ".", "." + token,
            token + "." + parts[2], token + ".." + parts[2], "\(token),\(token)",
            #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#,
            parts[0] + "%2e" + parts[1] + "." + parts[2],
        ]
        for other in others { #expect(fixture.reason(other) != nil, "\(other.prefix(20))") }
        #expect(fixture.reason("..") == .badSignature)
        #expect(fixture.reason("\(parts[0])..\(parts[2])") == .malformedPayload)
    }

    @Test("Row 27: A token over the limit is refused whatever is in it, one at the limit is read")
    func size() throws {
        #expect(fixture.reason(String(repeating: ".", count: 8193)) == .tokenTooLarge)
        #expect(fixture.reason(String(repeating: ".", count: 8192)) == .malformedToken)
        #expect(fixture.reason(String(repeating: "A", count: 100_000)) == .tokenTooLarge)
        let token = try fixture.token()
        for (limit, isRead) in [(token.utf8.count, true), (token.utf8.count - 1, false)] {
            let verdict = TokenVerifier(issuers: [VerifyFixture.pool], maximumTokenBytes: limit).verify(
                token.utf8, accepting: TokenAcceptance(tokenUses: [.access]), keys: { _ in fixture.keySet },
                now: VerifyFixture.now)
            if case .verified = verdict { #expect(isRead) } else { #expect(!isRead) }
        }
    }

    @Test("Row 27: Deep JSON within the limit is refused without exhausting the stack", arguments: [33, 2000])
    func depth(levels: Int) throws {
        let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let claims = VerifyFixture.accessClaims.text(with: "\"deep\":\(nested)", replacing: "")
        let header = String(decoding: VerifyFixture.header.encoded(), as: UTF8.self)
        #expect(fixture.reason(try fixture.token(headerText: header, payloadText: claims)) == .malformedPayload)
    }
}
