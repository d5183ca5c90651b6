import Pipeline
import Testing

@Suite("RequestPath")
struct RouteRequestPathTests {
    static let accepted: [(target: String, path: String)] = [
        ("/", "/"),
        ("/?a=1", "/"),
        ("/admin", "/admin"),
        ("/admin/", "/admin"),
        ("/admin/?next=/public", "/admin"),
        ("/Admin", "/Admin"),
        ("/%61dmin", "/admin"),
        ("/admin%2e", "/admin."),
        ("/admin..", "/admin.."),
        ("/a/...", "/a/..."),
        ("/.well-known/x", "/.well-known/x"),
        ("/..a/.b", "/..a/.b"),
        ("/a%20b", "/a b"),
        ("/a;v=1/b", "/a;v=1/b"),
        ("/a%3Bv", "/a;v"),
        ("/a:b@c+d!$&'()*,=~_-", "/a:b@c+d!$&'()*,=~_-"),
        ("/100%25", "/100%"),
        ("/100%25/a", "/100%/a"),
        ("/caf%C3%A9/", "/café"),
        ("/%E2%80%A6", "/…"),
        ("/c%23", "/c#"),
        ("/a?x=%2e%2e%2f&y=[1]{2}|^`\\\"'<>", "/a"),
        ("/a?discount=50%&b=%zz", "/a"),
        ("/a?x=//../;?/", "/a"),
        ("/public/..?x", "/public/.."),
        ("/public/.", "/public/."),
        ("/admin%0a", "/admin\n"),
        ("/admin%0d%0aX:y", "/admin\r\nX:y"),
        ("/admin%09", "/admin\t"),
        ("/admin%7f", "/admin\u{7f}"),
    ]

    @Test("A clean target has one normal form and is kept byte for byte", arguments: accepted)
    func accepts(target: String, path: String) throws {
        let parsed = try RequestPath.parse(target)
        #expect(parsed.path == path)
        #expect(Array(parsed.target.utf8) == Array(target.utf8))
        #expect(String(parsed.received) == String(target.prefix { $0 != "?" }))
    }

    /// With the row of the attack list each case is for.
    static let refused: [(row: Int, target: String, fault: PathFault)] = [
        (45, "//admin", .emptySegment),
        (45, "///admin", .emptySegment),
        (45, "/public//admin", .emptySegment),
        (45, "/admin//", .emptySegment),
        (45, "/./admin", .dotSegment),
        (45, "/.", .dotSegment),
        (45, "/..", .dotSegment),
        (45, "/public/../admin", .dotSegment),
        (45, "/public/../../admin", .dotSegment),
        (45, "/../", .dotSegment),
        (45, "/public/../", .dotSegment),
        (45, "/caf%C3%A9/..", .dotSegment),
        (49, "/public/.%0a./admin", .dotSegment),
        (49, "/public/..%09", .dotSegment),
        (49, "/public/%0a/admin", .emptySegment),
        (46, "/public/%2e%2e/admin", .dotSegment),
        (46, "/public/.%2E/admin", .dotSegment),
        (46, "/public/%2e", .dotSegment),
        (46, "/public%2fadmin", .encodedSeparator),
        (46, "/public/..%2Fadmin", .encodedSeparator),
        (46, "/public/..%5cadmin", .encodedSeparator),
        (46, "/public/..\\admin", .forbiddenByte),
        (46, "/\\admin", .forbiddenByte),
        (47, "/public/%252e%252e/admin", .doubleEncoding),
        (47, "/public/..%252f", .doubleEncoding),
        (47, "/public/%2525", .doubleEncoding),
        (47, "/public/%25%32%65", .doubleEncoding),
        (47, "/public/%252E", .doubleEncoding),
        (48, "/public/..;/admin", .dotSegment),
        (48, "/public/..;x=y/admin", .dotSegment),
        (48, "/public/.;x", .dotSegment),
        (48, "/public/%2e%2e%3b/admin", .dotSegment),
        (48, "/public/..%3bx", .dotSegment),
        (48, "/;/admin", .emptySegment),
        (48, "/public/;x=1/admin", .emptySegment),
        (48, "/public/%3b/admin", .emptySegment),
        (49, "/admin%00", .encodedControl),
        (49, "/admin%00.png", .encodedControl),
        (49, "/admin%C2%85", .encodedControl),
        (50, "/%c0%ae%c0%ae/admin", .invalidUTF8),
        (50, "/public/..%c0%afadmin", .invalidUTF8),
        (50, "/%e0%80%ae", .invalidUTF8),
        (50, "/%ff", .invalidUTF8),
        (50, "/%ed%a0%80", .invalidUTF8),
        (50, "/public/%EF%BC%8E%EF%BC%8E/admin", .deceptiveCharacter),
        (50, "/public/%E2%80%A5/admin", .deceptiveCharacter), (50, "/public/%EF%B8%B0/admin", .deceptiveCharacter),
        (50, "/public/%E2%84%80", .deceptiveCharacter), (50, "/public/%E2%84%81", .deceptiveCharacter),
        (50, "/public/%E2%84%85", .deceptiveCharacter), (50, "/public/%E2%84%86", .deceptiveCharacter),
        (50, "/public%EF%BC%8Fadmin", .deceptiveCharacter),
        (50, "/public%E2%88%95admin", .deceptiveCharacter),
        (50, "/public%E2%81%84admin", .deceptiveCharacter),
        (50, "/public%EF%BC%BCadmin", .deceptiveCharacter),
        (53, "/admin#/public", .forbiddenByte),
        (53, "/admin?x#y", .forbiddenQueryByte),
        (53, "/public/..%23/admin", .dotSegment),
        (53, "/public/..%3f/admin", .dotSegment),
        (54, "http://gw.test/admin", .notOriginForm),
        (54, "http://gw.test@evil.test/admin", .notOriginForm),
        (54, "gw.test:443", .notOriginForm),
        (54, "*", .notOriginForm),
        (54, "", .notOriginForm),
        (54, "admin", .notOriginForm),
        (88, "/a\u{1b}[31m", .forbiddenByte),
        (88, "/a\r\nb", .forbiddenByte),
        (88, "/a b", .forbiddenByte),
        (88, "/é", .forbiddenByte),
        (88, "/a?x=\u{7f}", .forbiddenQueryByte),
        (88, "/a?x y", .forbiddenQueryByte),
        (88, "/a?é", .forbiddenQueryByte),
        (88, "/a?\n", .forbiddenQueryByte),
        (46, "/a%", .malformedEscape),
        (46, "/a%2", .malformedEscape),
        (46, "/a%2?f", .malformedEscape),
        (46, "/a%zz", .malformedEscape),
        (46, "/a%u002e", .malformedEscape),
    ]

    @Test("A target that two readers could read differently is refused", arguments: refused)
    func refuses(row: Int, target: String, fault: PathFault) {
        #expect(throws: fault, "row \(row)") { try RequestPath.parse(target) }
    }

    @Test(
        "Each byte that RFC 3986 does not allow raw in a path is refused there",
        arguments: Array(0..<128 as Range<UInt8>))
    func refusesRawBytes(byte: UInt8) {
        let allowed = "!$&'()*+,-.0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~/"
        let target = "/a" + String(decoding: [byte], as: UTF8.self) + "b"
        let isAllowed = allowed.utf8.contains(byte)
        if byte == UInt8(ascii: "%") {
            #expect(throws: PathFault.malformedEscape) { try RequestPath.parse(target) }
        } else if isAllowed {
            #expect(throws: Never.self) { try RequestPath.parse(target) }
        } else {
            #expect(throws: PathFault.forbiddenByte) { try RequestPath.parse(target) }
        }
    }

    @Test("Escaping a path's characters does not change its normal form")
    func escapingChangesNothing() throws {
        let plain = "/api/v1/users~me"
        let escaped = plain.utf8.map { byte in
            byte == UInt8(ascii: "/") ? "/" : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        #expect(try RequestPath.parse(escaped).path == plain)
    }

    @Test("A target of 8192 bytes is the longest; one more is 414")
    func length() throws {
        let longest = "/" + String(repeating: "a", count: 8191)
        #expect(try RequestPath.parse(longest).path == longest)
        #expect(throws: PathFault.tooLong) { try RequestPath.parse(longest + "a") }
        #expect(throws: PathFault.tooLong) { try RequestPath.parse("/?" + longest) }
        #expect(PathFault.tooLong.error == .uriTooLong)
    }

    @Test("Every other fault is 400 and its reason is kebab-case", arguments: PathFault.allCases)
    func reasons(fault: PathFault) {
        #expect(fault == .tooLong || fault.error == .badRequest)
        #expect(
            fault.rawValue.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || (97...122).contains($0) || (48...57).contains($0)
            })
    }
}
