import HTTPTypes
import Pipeline
import Testing

@Suite("Whose request it is behind proxies")
struct TrustedProxiesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var peer: String
        var lines: [String]
        var client: String
        var testDescription: String { "\(peer) \(lines)" }

        init(_ peer: String, _ lines: [String], _ client: String) {
            self.peer = peer
            self.lines = lines
            self.client = client
        }
    }

    /// Row 40.
    @Test(
        "The client is the last address that is no proxy's",
        arguments: [
            Case("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
            Case("10.0.0.1", [], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
            Case("10.0.0.1", ["1.2.3.4, 203.0.113.9"], "203.0.113.9"),
            Case("10.0.0.1", ["1.2.3.4, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
            Case("10.0.0.1", ["1.2.3.4", "203.0.113.9", "10.0.0.2 , 10.9.9.9"], "203.0.113.9"),
            Case("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            Case("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9"),
            Case("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
            Case("10.0.0.1", ["2001:DB8:0::1"], "2001:db8::1"),
            Case("10.0.0.1", ["[2001:db8::1]"], "2001:db8::1"),
            Case("10.0.0.1", ["[2001:db8::1]x"], "10.0.0.1"),
            Case("10.0.0.1", ["[2001:db8::1]:"], "10.0.0.1"),
            Case("10.0.0.1", ["[2001:db8::1]:4711x"], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9:"], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9:http"], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9, unknown"], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
            Case("10.0.0.1", ["203.0.113.9,"], "10.0.0.1"),
            Case("10.0.0.1", [""], "10.0.0.1"),
            Case("10.0.0.1", ["203.0.113.9\u{c}x"], "10.0.0.1"),
            Case("2001:db8:ffff::1", ["203.0.113.9"], "203.0.113.9"),
            Case("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
            Case("-", ["203.0.113.9"], "-"),
        ])
    func client(example: Case) throws {
        let networks = try ["10.0.0.0/8", "2001:db8:ffff::/48"].map { try IPNetwork($0) }
        let proxies = try #require(TrustedProxies(networks))
        let name = try #require(HTTPField.Name("X-Forwarded-For"))
        var fields = HTTPFields()
        for line in example.lines { fields.append(HTTPField(name: name, lenientValue: Array(line.utf8))) }
        #expect(proxies.origin(peer: example.peer, fields)?.client ?? example.peer == example.client)
    }

    /// The peer, the lines of `X-Forwarded-Proto`, and the scheme that they say.
    static let schemes: [(peer: String, lines: [String], scheme: String?)] = [
        ("192.0.2.1", ["https"], nil), ("-", ["https"], nil), ("10.0.0.1", [], nil), ("10.0.0.1", ["https"], "https"),
        ("10.0.0.1", ["http"], "http"), ("10.0.0.1", ["https, http"], "http"), ("10.0.0.1", ["http,https"], "https"),
        ("10.0.0.1", ["https", "http"], "http"), ("10.0.0.1", ["http", " \thttps "], "https"),
        ("10.0.0.1", ["HTTPS"], "http"), ("10.0.0.1", ["https,"], "http"), ("10.0.0.1", [""], "http"),
        ("10.0.0.1", ["\"https\""], "http"), ("10.0.0.1", ["https\u{301}"], "http"), ("10.0.0.1", ["wss"], "http"),
        ("::ffff:10.0.0.1", ["https"], "https"),
    ]

    @Test("How a client came to a trusted peer, that peer's last word says", arguments: schemes)
    func scheme(peer: String, lines: [String], scheme: String?) throws {
        let proxies = try #require(TrustedProxies([try IPNetwork("10.0.0.0/8")]))
        let name = try #require(HTTPField.Name("x-forwarded-proto"))
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: name, lenientValue: Array(line.utf8))) }
        #expect(proxies.origin(peer: peer, fields)?.scheme == scheme)
    }

    @Test("Nobody is trusted unless named")
    func nobody() {
        #expect(TrustedProxies([]) == nil)
    }

    @Test("Of IPv6 a customer is the /64, of IPv4 the address")
    func customers() throws {
        #expect(try #require(IPAddress("2001:db8:1:2:3:4:5:6")).ofCustomer.description == "2001:db8:1:2::")
        #expect(try #require(IPAddress("192.0.2.7")).ofCustomer.description == "192.0.2.7")
        #expect(try #require(IPAddress("::ffff:192.0.2.7")).ofCustomer.description == "192.0.2.7")
    }
}
