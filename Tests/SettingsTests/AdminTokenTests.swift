import Cryptography
import Testing

@testable import Settings

@Suite("Tokens of the admin listener")
struct AdminTokenTests {
    private static let yaml = """
        admin:
          token: token-of-everything
          metrics_token: token-of-metrics
          tokens:
            reader: {token: token-of-the-reader, may: [read]}
            support: {token: token-of-support, may: [users, drain]}
        """

    @Test(
        "Each may do what the settings say, and has the name of its place there",
        arguments: [
            ("token-of-everything", "admin.token", AdminRight.allCases),
            ("token-of-metrics", "admin.metrics_token", [.metrics]),
            ("token-of-the-reader", "reader", [.metrics, .read]),
            ("token-of-support", "support", [.drain, .readUsers, .users]),
        ] as [(String, String, [AdminRight])])
    func rights(text: String, name: String, rights: [AdminRight]) throws {
        let admin = try load(Sample(more: Self.yaml).yaml).admin
        let token = try #require(admin.owner(of: Secret(text)))
        #expect(token.name == name)
        #expect(AdminRight.allCases.filter(token.allows) == rights)
    }

    @Test("Another text is nobody's", arguments: ["", "token-of-metric", "token-of-metricss", "TOKEN-OF-METRICS"])
    func nobody(text: String) throws {
        #expect(try load(Sample(more: Self.yaml).yaml).admin.owner(of: Secret(text)) == nil)
    }

    @Test("admin.token alone may do everything, as before there were others")
    func alone() throws {
        let admin = try load(Sample(more: "admin: {token: token-of-everything}").yaml).admin
        #expect(admin.tokens.map(\.rights) == [Set(AdminRight.allCases)])
    }
}
