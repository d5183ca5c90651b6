import NIOCore
import Pipeline
import Testing

@testable import Listener

/// Headers of version 2, from their parts.
enum BinaryHeader {
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10] + Array("QUIT\n".utf8)
    static let ipv4: [UInt8] = [198, 51, 100, 9, 192, 0, 2, 1, 0xDC, 4, 1, 0xBB]
    static let ipv6: [UInt8] =
        [0x20, 1, 0xD, 0xB8] + zeros(11) + [9] + zeros(15) + [1, 0xDC, 4, 1, 0xBB]

    static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

    static func make(command: UInt8 = 0x21, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
    }

    static func value(_ type: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        [type, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }
}

/// One way to begin a connection, with a name for the report.
struct ProxyHeaderCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]

    init(_ name: String, _ bytes: [UInt8]) {
        testDescription = name
        self.bytes = bytes
    }

    init(_ line: String) {
        self.init(line, Array(line.utf8))
    }
}

@Suite("A PROXY header")
struct ProxyHeaderTests {
    private static func read(_ bytes: some Sequence<UInt8>) throws -> (ProxyHeader?, left: [UInt8]) {
        var buffer = ByteBuffer(bytes: bytes)
        return (try ProxyHeader.read(from: &buffer), Array(buffer.readableBytesView))
    }

    static let good: [(ProxyHeaderCase, String?)] = [
        (ProxyHeaderCase("PROXY TCP4 198.51.100.9 192.0.2.1 56324 443\r\n"), "198.51.100.9"),
        (ProxyHeaderCase("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"), "255.255.255.255"),
        (ProxyHeaderCase("PROXY TCP4 198.51.100.9 192.0.2.1 0 0\r\n"), "198.51.100.9"),
        (ProxyHeaderCase("PROXY TCP6 2001:db8::9 ::1 56324 443\r\n"), "2001:db8::9"),
        (ProxyHeaderCase("PROXY TCP6 ::ffff:198.51.100.9 ::1 56324 443\r\n"), "198.51.100.9"),
        (ProxyHeaderCase("PROXY UNKNOWN\r\n"), nil),
        (ProxyHeaderCase("PROXY UNKNOWN ffff::1 what ever 99999\r\n"), nil),
        (ProxyHeaderCase("PROXY UNKNOWN " + String(repeating: "f", count: 91) + "\r\n"), nil),
        (ProxyHeaderCase("TCP over IPv4", BinaryHeader.make(0x11, BinaryHeader.ipv4)), "198.51.100.9"),
        (ProxyHeaderCase("TCP over IPv6", BinaryHeader.make(0x21, BinaryHeader.ipv6)), "2001:db8::9"),
        (
            ProxyHeaderCase(
                "IPv4-mapped",
                BinaryHeader.make(
                    0x21,
                    Array(repeating: 0, count: 10) + [255, 255, 198, 51, 100, 9] + Array(repeating: 0, count: 20))),
            "198.51.100.9"
        ),
        (
            ProxyHeaderCase(
                "further values",
                BinaryHeader.make(
                    0x11,
                    BinaryHeader.ipv4 + BinaryHeader.value(2, Array("api.test".utf8)) + BinaryHeader.value(4, [])
                        + BinaryHeader.value(0xEA, Array(repeating: 7, count: 300)))), "198.51.100.9"
        ),
        (ProxyHeaderCase("local", BinaryHeader.make(command: 0x20, 0x00, [])), nil),
        (ProxyHeaderCase("local with bytes", BinaryHeader.make(command: 0x20, 0xFF, [1, 2, 3])), nil),
        (ProxyHeaderCase("unspecified", BinaryHeader.make(0x00, [])), nil),
        (ProxyHeaderCase("unspecified with bytes", BinaryHeader.make(0x00, [1, 2, 3])), nil),
        (ProxyHeaderCase("UDP over IPv4", BinaryHeader.make(0x12, BinaryHeader.ipv4)), nil),
        (ProxyHeaderCase("unix stream", BinaryHeader.make(0x31, Array(repeating: 1, count: 216))), nil),
        (
            ProxyHeaderCase(
                "the longest",
                BinaryHeader.make(0x11, BinaryHeader.ipv4 + BinaryHeader.value(4, Array(repeating: 0, count: 4065)))),
            "198.51.100.9"
        ),
    ]

    @Test("It is read whole, and nothing of what follows", arguments: good)
    func reads(header: ProxyHeaderCase, client: String?) throws {
        let expected = try client.map { ProxyHeader.client(try #require(IPAddress($0))) } ?? .peer
        let (found, left) = try Self.read(header.bytes + Array("GET /".utf8))
        #expect(found == expected)
        #expect(left == Array("GET /".utf8))
    }

    @Test("Until its last byte has come, nothing is taken and nothing refused", arguments: good.map(\.0))
    func everySplit(header: ProxyHeaderCase) throws {
        for count in header.bytes.indices {
            let (found, left) = try Self.read(header.bytes.prefix(count))
            #expect(found == nil)
            #expect(left.count == count)
        }
    }

    static let bad: [(ProxyHeaderCase, ProxyHeaderFault)] =
        [
            ("GET / HTTP/1.1\r\n", .absent), ("PRI * HTTP/2.0\r\n", .absent), ("\u{16}\u{3}\u{1}", .absent),
            ("proxy TCP4", .absent), (" PROXY TCP4", .absent), ("PROXY\r\n", .absent), ("PROXYTCP4 ", .absent),
            ("\r\nPROXY", .absent), ("\r\n\r\nGET", .absent),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 56324 443\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 56324 443 \r\n", .malformed),
            ("PROXY  TCP4 198.51.100.9 192.0.2.1 56324 443\r\n", .malformed),
            ("PROXY TCP4  198.51.100.9 192.0.2.1 56324 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 56324\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1\r\n", .malformed),
            ("PROXY TCP4\r\n", .malformed), ("PROXY \r\n", .malformed),
            ("PROXY TCP5 1.1.1.1 1.1.1.1 1 1\r\n", .malformed),
            ("PROXY UDP4 198.51.100.9 192.0.2.1 56324 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 56324 65536\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 056324 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 +1 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 192.0.2.1 -1 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.09 192.0.2.1 1 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.256 192.0.2.1 1 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9 here 1 443\r\n", .malformed),
            ("PROXY TCP4 2001:db8::9 ::1 1 443\r\n", .malformed),
            ("PROXY TCP6 198.51.100.9 192.0.2.1 1 443\r\n", .malformed),
            ("PROXY TCP4 198.51.100.9\r192.0.2.1 1 443\r\n", .malformed),
            ("PROXY UNKNOWN \r x\r\n", .malformed), ("PROXY UNKNOWN \0\r\n", .malformed),
            ("PROXY unknown\r\n", .malformed), ("PROXY UNKNOWNX\r\n", .malformed),
            ("PROXY UNKNOWN " + String(repeating: "f", count: 92) + "\r\n", .malformed),
            ("PROXY UNKNOWN " + String(repeating: "f", count: 200), .malformed),
        ].map { (ProxyHeaderCase($0), $1) }

    /// Errors in the bytes behind the fixed part of a header for TCP over IPv4.
    static let badValues: [(String, [UInt8], ProxyHeaderFault)] = [
        ("half a value", [4, 0], .malformed),
        ("a value beyond the end", [4, 0, 2, 0], .malformed),
        ("a short checksum", BinaryHeader.value(3, [0, 0]), .malformed),
        ("a wrong checksum", BinaryHeader.value(3, [1, 2, 3, 4]), .checksum),
        ("too long", BinaryHeader.zeros(4069), .tooLong),
    ]

    static let badBinary: [(ProxyHeaderCase, ProxyHeaderFault)] =
        [
            ("version 1 in binary", BinaryHeader.make(command: 0x11, 0x11, BinaryHeader.ipv4), .malformed),
            ("version 3", BinaryHeader.make(command: 0x31, 0x11, BinaryHeader.ipv4), .malformed),
            ("unknown command", BinaryHeader.make(command: 0x22, 0x11, BinaryHeader.ipv4), .malformed),
            ("unknown family", BinaryHeader.make(0x41, BinaryHeader.ipv4), .malformed),
            ("unknown transport", BinaryHeader.make(0x13, BinaryHeader.ipv4), .malformed),
            ("short IPv4", BinaryHeader.make(0x11, BinaryHeader.ipv4.dropLast()), .malformed),
            ("short IPv6", BinaryHeader.make(0x21, BinaryHeader.ipv6.dropLast()), .malformed),
            ("IPv6 with IPv4's length", BinaryHeader.make(0x21, BinaryHeader.ipv4), .malformed),
            ("short unix", BinaryHeader.make(0x31, BinaryHeader.zeros(215)), .malformed),
            ("too long, announced only", BinaryHeader.signature + [0x20, 0, 255, 255], .tooLong),
            ("another signature", Array(BinaryHeader.signature.dropLast()) + [0x0D], .absent),
        ].map { (ProxyHeaderCase($0, $1), $2) }
        + badValues.map { (ProxyHeaderCase($0, BinaryHeader.make(0x11, BinaryHeader.ipv4 + $1)), $2) }

    @Test("What is none is refused", arguments: bad + badBinary)
    func refuses(header: ProxyHeaderCase, fault: ProxyHeaderFault) {
        #expect(throws: fault) { try Self.read(header.bytes) }
    }

    @Test("What is none is refused in any pieces, at the latest with its last byte", arguments: bad + badBinary)
    func refusesInPieces(header: ProxyHeaderCase, fault: ProxyHeaderFault) {
        let outcomes = (1...header.bytes.count).map { count in
            Result { try Self.read(header.bytes.prefix(count)).0 }
        }
        #expect(outcomes.allSatisfy { (try? $0.get()) == nil })
        #expect(throws: fault) { try outcomes.last?.get() }
    }

    /// The check value that the catalogues of checksums give.
    @Test("CRC32C of 123456789 is E3069283")
    func checkValue() {
        #expect(CRC32C.checksum(of: Array("123456789".utf8)) == 0xE306_9283)
    }

    @Test("A checksum is taken of the whole header with zeros in its place")
    func checksum() throws {
        let before = BinaryHeader.value(2, Array("api.test".utf8)), after = BinaryHeader.value(4, [9, 9])
        var bytes = BinaryHeader.make(0x11, BinaryHeader.ipv4 + before + BinaryHeader.value(3, [0, 0, 0, 0]) + after)
        let checksum = CRC32C.checksum(of: bytes)
        let place = bytes.count - after.count - 4
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(24 - 8 * index)) }
        #expect(try Self.read(bytes).0 == .client(#require(IPAddress("198.51.100.9"))))
        // All but the byte that says that it is a checksum.
        for index in bytes.indices where index > 15 && index != place - 3 {
            var changed = bytes
            changed[index] ^= 0x40
            #expect(throws: ProxyHeaderFault.self, "byte \(index)") { try Self.read(changed) }
        }
    }
}
