import Encoding
import Testing

@testable import Pipeline

@Suite("Addresses and networks")
struct IPNetworkTests {
    static let texts: [(String, String)] = [
        ("192.0.2.7", "192.0.2.7"),
        ("0.0.0.0", "0.0.0.0"),
        ("255.255.255.255", "255.255.255.255"),
        ("9.10.99.100", "9.10.99.100"),
        ("109.200.1.20", "109.200.1.20"),
        ("::1", "::1"),
        ("::", "::"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:c000:0207", "192.0.2.7"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ]

    @Test("An address is read and written in one form", arguments: texts)
    func addresses(text: String, written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == written)
        #expect(IPAddress(written) == address)
        #expect(address.isIPv4 == !written.contains(":"))
    }

    @Test(
        "What is no address is refused",
        arguments: [
            "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.04", "0x1.2.3.4", " 1.2.3.4", "1.2.3.4 ",
            "1.2.3.4\0", "::1\0::2", ":::", "1::2::3", "::g", "fe80::1%eth0", "[::1]", "localhost", "1.2.3.4:80",
        ])
    func noAddress(text: String) {
        #expect(IPAddress(text) == nil)
    }

    static let members: [(String, String, Bool)] = [
        ("10.0.0.0/8", "10.255.255.255", true),
        ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("10.0.0.0/8", "::10.1.2.3", false),
        ("::ffff:10.0.0.0/104", "10.1.2.3", true),
        ("::ffff:10.0.0.0/104", "11.1.2.3", false),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false),
        ("192.0.2.7/32", "192.0.2.7", true),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true),
        ("::/0", "203.0.113.9", false),
        ("::/0", "::1", true),
        ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
        ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::1/128", "::1", true),
        ("::1", "::2", false),
    ]

    @Test("A network holds the addresses that share its prefix", arguments: members)
    func contains(network: String, address: String, expected: Bool) throws {
        #expect(try IPNetwork(network).contains(#require(IPAddress(address))) == expected)
    }

    @Test(
        "What is no network is refused",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8",
            "10.0.0.0/255.0.0.0", "::/129", "10/8", "10.0.0.0 /8", "host/8",
        ])
    func noNetwork(text: String) {
        #expect(throws: IPNetworkError.malformed) { try IPNetwork(text) }
    }

    @Test(
        "Bits behind the prefix are a slip, and what was meant is said",
        arguments: [
            ("10.1.2.3/8", "10.0.0.0/8"), ("192.0.2.7/31", "192.0.2.6/31"), ("2001:db8::1/32", "2001:db8::/32"),
            ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
        ])
    func bitsBehindPrefix(text: String, meant: String) {
        #expect(throws: IPNetworkError.bitsBehindPrefix(meant: meant)) { try IPNetwork(text) }
    }
}
