import Cryptography
import Encoding
import SeededRandom
import Testing

@testable import LocalPool

@Suite("CBOR of authenticators")
struct CBORTests {
    /// RFC 8949, Appendix A: those of its examples that CTAP's canonical form has.
    static let examples: [(String, CBOR)] = [
        ("00", .unsigned(0)), ("01", .unsigned(1)), ("0a", .unsigned(10)), ("17", .unsigned(23)),
        ("1818", .unsigned(24)), ("1819", .unsigned(25)), ("1864", .unsigned(100)), ("1903e8", .unsigned(1000)),
        ("1a000f4240", .unsigned(1_000_000)), ("1b000000e8d4a51000", .unsigned(1_000_000_000_000)),
        ("1bffffffffffffffff", .unsigned(.max)), ("3bffffffffffffffff", .negative(.max)),
        ("20", .integer(-1)), ("29", .integer(-10)), ("3863", .integer(-100)), ("3903e7", .integer(-1000)),
        ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null), ("40", .bytes([])),
        ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")), ("6161", .text("a")), ("6449455446", .text("IETF")),
        ("62225c", .text("\"\\")), ("62c3bc", .text("\u{fc}")), ("63e6b0b4", .text("\u{6c34}")),
        ("64f0908591", .text("\u{10151}")), ("80", .array([])), ("83010203", .array([1, 2, 3].map(CBOR.integer))),
        (
            "8301820203820405",
            .array([.unsigned(1), .array([.unsigned(2), .unsigned(3)]), .array([.unsigned(4), .unsigned(5)])])
        ),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", .array((1...25).map(CBOR.integer))),
        ("a0", .map([])), ("a201020304", .map([.init(1, .unsigned(2)), .init(3, .unsigned(4))])),
        (
            "a26161016162820203",
            .map([.init("a", .unsigned(1)), .init("b", .array([.unsigned(2), .unsigned(3)]))])
        ),
        ("826161a161626163", .array([.text("a"), .map([.init("b", .text("c"))])])),
        (
            "a56161614161626142616361436164614461656145",
            .map(["A", "B", "C", "D", "E"].map { .init($0.lowercased(), .text($0)) })
        ),
    ]

    @Test("RFC 8949's examples are read", arguments: examples.indices)
    func reads(index: Int) throws {
        let (encoded, value) = Self.examples[index]
        #expect(try CBORReader.value(of: Self.bytes(encoded)) == value, "\(encoded)")
    }

    @Test("An example that is cut off anywhere, or followed by a byte, is refused", arguments: examples.indices)
    func truncated(index: Int) throws {
        let bytes = try Self.bytes(Self.examples[index].0)
        for count in 0..<bytes.count {
            #expect(throws: InvalidCBOR.self) { try CBORReader.value(of: bytes.prefix(count)) }
        }
        #expect(throws: InvalidCBOR.self) { try CBORReader.value(of: bytes + [0]) }
        // A reader leaves what is behind the value.
        var reader = CBORReader(bytes + [0xFF])
        _ = try reader.read()
        #expect(reader.rest == [0xFF])
    }

    static let refused: [(name: String, encoded: String)] = [
        ("nothing", ""),
        ("0 in two bytes", "1800"), ("23 in two bytes", "1817"), ("255 in three bytes", "1900ff"),
        ("65535 in five bytes", "1a0000ffff"), ("4294967295 in nine bytes", "1b00000000ffffffff"),
        ("a length in two bytes that fits one", "580100"), ("a count in nine bytes", "9b0000000000000000"),
        ("reserved argument 28", "1c"), ("reserved argument 30", "5e"),
        ("byte string of indefinite length", "5f42010243030405ff"), ("text of indefinite length", "7f657374726561ff"),
        ("array of indefinite length", "9fff"), ("map of indefinite length", "bfff"), ("break alone", "ff"),
        ("tag", "c11a514b67b0"), ("big number", "c249010000000000000000"), ("half-precision number", "f93c00"),
        ("single-precision number", "fa47c35000"), ("double-precision number", "fb3ff199999999999a"),
        ("undefined", "f7"), ("simple value", "f0"), ("simple value in two bytes", "f8ff"),
        ("false in two bytes", "f814"),
        ("byte string as long as an address space", "5bffffffffffffffff"),
        ("byte string over Int's maximum", "5b8000000000000000"), ("text that is too long", "7affffffff61"),
        ("array of more elements than bytes", "9bffffffffffffffff00"),
        ("array of 2 to the 62 elements", "9b400000000000000000"),
        ("map of more members than bytes", "bbffffffffffffffff0000"), ("map without its last value", "a2010203"),
        ("a key twice", "a201020103"), ("a text key twice", "a2616101616102"), ("a nested key twice", "81a201020103"),
        ("an array as a key twice", "a28101028101 03"),
        ("text that is not UTF-8", "61ff"), ("text with a surrogate", "63eda080"), ("text in overlong UTF-8", "62c080"),
    ]

    @Test("Everything that has a second reading, or none, is refused", arguments: refused.indices)
    func refuses(index: Int) throws {
        let (name, encoded) = Self.refused[index]
        let bytes = try Self.bytes(encoded.filter { $0 != " " })
        #expect(throws: InvalidCBOR.self, "\(name)") { try CBORReader.value(of: bytes) }
    }

    @Test("Six levels are read, and no depth ends the process")
    func depth() throws {
        func nested(_ head: [UInt8], _ levels: Int) -> [UInt8] {
            Array([[UInt8]](repeating: head, count: levels).joined()) + [0]
        }
        for head: [UInt8] in [[0x81], [0xA1, 0x00]] {
            _ = try CBORReader.value(of: nested(head, 6))
            for levels in [7, 8, 100_000] {
                #expect(throws: InvalidCBOR.self) { try CBORReader.value(of: nested(head, levels)) }
            }
        }
        // As keys.
        #expect(throws: InvalidCBOR.self) { try CBORReader.value(of: [UInt8](repeating: 0xA1, count: 100_000)) }
    }

    @Test("An array of many elements has room for no more than there are bytes")
    func manyElements() throws {
        let count: UInt32 = 100_000
        let head: [UInt8] = [0x9A] + stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) }
        let value = try CBORReader.value(of: head + [UInt8](repeating: 0, count: Int(count)))
        #expect(value == .array([CBOR](repeating: .unsigned(0), count: Int(count))))
        #expect(throws: InvalidCBOR.self) {
            try CBORReader.value(of: head + [UInt8](repeating: 0, count: Int(count) - 1))
        }
    }

    /// An authenticator's data at a registration.
    static let authenticatorData: [UInt8] = {
        // {1: 2, 3: -7, -1: 1, -2: x, -3: y}: the base point of P-256.
        let (x, y) = (
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
        )
        let key = Hexadecimal.decode("a5010203262001215820\(x)225820\(y)") ?? []
        return SHA256.hash(Array("pool.test".utf8)) + [0x45, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 16) + [0, 4]
            + [1, 2, 3, 4] + key
    }()

    static let attestationObject: [UInt8] =
        [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8) + [0xA0, 0x68]
        + Array("authData".utf8) + [0x58, UInt8(authenticatorData.count)] + authenticatorData

    @Test("An authenticator's data are read")
    func registration() throws {
        let value = try CBORReader.value(of: Self.attestationObject)
        #expect(value["fmt"] == .text("none") && value["attStmt"] == .map([]))
        let data = try AuthenticatorData(#require(value["authData"]?.bytesValue))
        let credential = try #require(data.credential)
        #expect(credential.id == [1, 2, 3, 4] && data.signatureCount == 1 && data.isUserPresent && data.isUserVerified)
        #expect(try CredentialKey(credential.publicKey).algorithm == -7)
    }

    /// Each input is what an authenticator could send, changed; a trap would end the whole process.
    @Test("Changed and random input never ends the process", arguments: 0..<8)
    func mutations(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let seeds = [Self.attestationObject, Self.authenticatorData, Array(Self.authenticatorData.dropFirst(59))]
        var readable = 0
        for round in 0..<5000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0...random.index(below: 4) { Self.change(&bytes, &random) }
            if round.isMultiple(of: 10) {
                bytes = (0..<random.index(below: 64)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            if (try? CBORReader.value(of: bytes)) != nil { readable += 1 }
            let data = try? AuthenticatorData(bytes)
            _ = try? CredentialKey(data?.credential?.publicKey ?? bytes)
        }
        #expect(readable > 0)
    }

    private static func change(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let index = random.index(below: bytes.count)
        switch random.index(below: 5) {
        case 0: bytes[index] ^= 1 << UInt8(random.index(below: 8))
        case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.remove(at: index)
        case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
        default: bytes.removeSubrange(index...)
        }
    }

    private static func bytes(_ hexadecimal: String) throws -> [UInt8] { try #require(Hexadecimal.decode(hexadecimal)) }
}

extension CBOR.Member {
    fileprivate init(_ key: Int64, _ value: CBOR) { self.init(key: .integer(key), value: value) }
    fileprivate init(_ key: String, _ value: CBOR) { self.init(key: .text(key), value: value) }
}
