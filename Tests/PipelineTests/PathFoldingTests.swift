import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Backends that ignore case")
struct PathFoldingTests {
    static func route(_ pattern: String, ignoresCase: Bool = true, access: Access = .public) throws -> Route {
        Route(
            name: pattern, pattern: try RoutePattern(pattern), access: access, destination: .upstream("backend"),
            ignoresCase: ignoresCase)
    }

    static func outcome(_ patterns: [String], _ target: String, ignoresCase: Bool = true) throws -> String {
        let table = try RouteTable(patterns.map { try route($0, ignoresCase: ignoresCase) })
        return try RouteTableTests.outcome(table, .get, target)
    }

    static let patterns = [
        "/ex/**", "/ex/admin/**", "/ex/Reports/**", "/ex/*/keys", "/users/{sub}/**", "/users/me/photo", "/ex/straße/x",
        "/ex/kelvin", "/ex/sum/**",
    ]

    @Test(
        "A path whose folded reading comes under another route is none's",
        arguments: [
            "/ex/ADMIN/secret", "/ex/Admin", "/ex/aDMIN/", "/ex/%41dmin/secret", "/ex/ADMIN;x/secret", "/ex/REPORTS/1",
            "/ex/reports/1", "/ex/reportS", "/ex/a/KEYS", "/ex/a/Keys/", "/users/ME/photo", "/users/me/PHOTO",
            "/ex/strasse/x", "/ex/STRASSE/x", "/ex/STRA%C3%9FE/x", "/ex/KELVIN", "/ex/%E2%84%AAelvin", "/ex/%C5%BFum/x",
            "/ex/%C5%BFUM", "/ex/adm%C4%B1n/secret", "/ex/adm%C4%B0n/secret", "/ex/ADM%C4%B0N",
        ])
    func refused(target: String) throws {
        #expect(try Self.outcome(Self.patterns, target) == "404")
        #expect(try Self.outcome(Self.patterns, target, ignoresCase: false) != "404")
    }

    @Test(
        "A path that stays under its route in every case goes on as it came",
        arguments: [
            ("/ex/admin/SECRET", "/ex/admin/**"), ("/ex/PUBLIC/x", "/ex/**"), ("/ex/Reports/A", "/ex/Reports/**"),
            ("/ex/a/keys", "/ex/*/keys"), ("/ex/A/keys", "/ex/*/keys"), ("/users/ABC/x", "/users/{sub}/**"),
            ("/ex/stra%C3%9Fe/x", "/ex/straße/x"), ("/ex/kelvin", "/ex/kelvin"), ("/ex/%C3%89t%C3%A9", "/ex/**"),
            ("/ex/a;A", "/ex/**"), ("/ex/administrator", "/ex/**"),
        ])
    func passed(target: String, route: String) throws {
        #expect(try Self.outcome(Self.patterns, target) == route)
    }

    @Test("What no route names in its own case is none's, also where another case is named")
    func unnamed() throws {
        #expect(try Self.outcome(["/ex/**"], "/EX/a") == "404")
    }

    @Test("Only the routes of such a backend are looked at twice")
    func otherBackends() throws {
        let table = try RouteTable([
            Self.route("/**", ignoresCase: false), Self.route("/ex/**"), Self.route("/ex/admin/**"),
        ])
        #expect(try RouteTableTests.outcome(table, .get, "/EX/ADMIN") == "/**")
        #expect(try RouteTableTests.outcome(table, .get, "/ex/ADMIN") == "404")
    }

    @Test(
        "Two patterns that are one to the backend are no table",
        arguments: [
            (["/a/B", "/a/b"], "\"/a/B\" and \"/a/b\""),
            (["/x", "/A/*/c", "/a/{sub}/C"], "\"/A/*/c\" and \"/a/{sub}/C\""),
            (["/straße/**", "/STRASSE/**"], "\"/straße/**\" and \"/STRASSE/**\""),
        ])
    func same(patterns: [String], named: String) throws {
        let routes = try patterns.map { try Self.route($0) }
        let fault = #expect(throws: RouteError.self) { try RouteTable(routes) }
        #expect(fault?.message == "\(named) are the same to an upstream whose paths are case_insensitive")
        #expect(throws: Never.self) { try RouteTable(patterns.map { try Self.route($0, ignoresCase: false) }) }
    }

    @Test("A subject with capitals is nobody's for certain")
    func subjects() throws {
        for (subject, ignoresCase, isTheirs) in [
            ("8c3b-0a", true, true), ("8C3B-0a", true, false), ("8C3B-0a", false, true), ("é", true, true),
            ("\u{212A}", true, false),
        ] {
            let route = try Self.route("/users/{sub}/**", ignoresCase: ignoresCase, access: .required)
            let segment = subject.utf8.reduce("") { $0 + "%" + String($1, radix: 16) }
            let path = try RequestPath.parse("/users/\(segment)/photo")
            #expect(path.isOf(subject: subject, in: route) == isTheirs, "\(subject)")
        }
    }

    @Test(
        "A route is led around by other letters where a laxer pattern takes them",
        arguments: [
            ("/ex/**", "/ex/admin/**", true), ("/ex/**", "/ex/admin", true), ("/**", "/admin", true),
            ("/ex/*", "/ex/admin", true), ("/*/x/**", "/ex/x/y", true), ("/ex/*/photo", "/ex/me/**", true),
            ("/EX/**", "/ex/admin", true), ("/ex/**", "/users/**", false), ("/ex/**", "/ex/*/1", false),
            ("/ex/*", "/ex/admin/x", false), ("/ex/public/*", "/ex/*/x", false), ("/ex/a/b", "/ex/a", false),
            ("/users/**", "/users/{sub}", false),
        ])
    func ledAround(lax: String, strict: String, isSo: Bool) throws {
        #expect(try RoutePattern(lax).takes(recased: RoutePattern(strict)) == isSo)
    }
}
