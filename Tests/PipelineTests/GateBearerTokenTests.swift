import HTTPTypes
import Pipeline
import Testing

@Suite("Gate: the token of a request")
struct GateBearerTokenTests {
    /// The token, or nil where there is none; throws where there are two.
    struct Repeated: Error {}

    func token(_ values: [String]) throws -> String? {
        let request = try GateFixture.request("/", values.map { ("Authorization", $0) })
        switch BearerToken(of: request) {
        case .none: return nil
        case .repeated: throw Repeated()
        case .value(let value, let prefix): return String(value.dropFirst(prefix))
        }
    }

    @Test(
        "The token stands behind the scheme, whose case does not matter, and blanks",
        arguments: [
            ("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER abc", "abc"), ("bEaReR abc", "abc"),
            ("Bearer   abc", "abc"), ("Bearer a b", "a b"), ("Bearer abc,def", "abc,def"),
            ("Bearer Bearer abc", "Bearer abc"), ("Bearer \u{212a}", "\u{212a}"),
            // Backends that split at white space find these, too.
            ("Bearer\tabc", "abc"), ("bearer \t abc", "abc"), ("Bearer\u{A0}abc", "\u{A0}abc"),
        ])
    func bearer(value: String, token: String) throws {
        #expect(try self.token([value]) == token)
    }

    @Test("A byte that is none of ASCII makes no other scheme of it", arguments: [0x85, 0xA0, 0xFF] as [UInt8])
    func byte(_ byte: UInt8) throws {
        var request = try GateFixture.request("/", [])
        request.headerFields.append(
            HTTPField(name: .authorization, lenientValue: Array("Bearer".utf8) + [byte] + Array("abc".utf8)))
        guard case .value(let value, let prefix) = BearerToken(of: request) else {
            Issue.record("found no token")
            return
        }
        #expect(value.utf8.dropFirst(prefix).elementsEqual("\u{FFFD}abc".utf8))
    }

    @Test(
        "Before the scheme such a byte makes the whole value a token, which no signature fits",
        arguments: [[0x85], [0xA0], [0xFF], [0xC2, 0xA0], [0xA0, 0x20], [0xA0, 0x09, 0xA0]] as [[UInt8]])
    func byteBefore(_ bytes: [UInt8]) throws {
        var request = try GateFixture.request("/", [])
        request.headerFields.append(
            HTTPField(name: .authorization, lenientValue: bytes + Array("Bearer abc".utf8)))
        guard case .value(let value, let prefix) = BearerToken(of: request) else {
            Issue.record("found no token")
            return
        }
        let token = value.utf8.dropFirst(prefix)
        #expect((token.first ?? 0) >= 0x80 && token.suffix(10).elementsEqual("Bearer abc".utf8))
    }

    @Test(
        "Anything else is no bearer token",
        arguments: [
            "", "Bearer", "bearer", "Bear abc", "Bearerabc", "Bearer;abc", "Bearer:abc", "Bearer,abc", "Basic abc",
            "Digest Bearer abc", "\"Bearer\" abc", "Token abc", "B\u{45}arers abc", "\u{412}earer abc",
            "\u{A0}", "\u{A0}Bearer", "\u{A0}Basic abc", "\u{A0}Bearerabc",
        ])
    func others(value: String) throws {
        #expect(try token([value]) == nil)
    }

    @Test("Two Authorization fields are never chosen from, also when they are alike or one is of another scheme")
    func repeated() {
        let lists = [
            ["Bearer abc", "Bearer abc"], ["Bearer abc", "Basic abc"], ["Basic abc", "Bearer abc"], ["", ""],
            ["Bearer a", "Bearer b", "Bearer c"],
        ]
        for list in lists { #expect(throws: Repeated.self, "\(list)") { try token(list) } }
    }

    @Test("No field, no token; a look-alike's is nobody's, and the query's neither")
    func missing() throws {
        #expect(try token([]) == nil)
        let request = try GateFixture.request(
            "/?access_token=abc", [("X-Authorization", "Bearer abc"), ("Proxy-Authorization", "Bearer abc")])
        guard case .none = BearerToken(of: request) else {
            Issue.record("found a token")
            return
        }
    }
}
