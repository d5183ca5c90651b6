import Encoding
import Testing

@Suite("Hexadecimal and Base 32")
struct HexadecimalTests {
    @Test("Bytes go both ways, in either case")
    func bytes() {
        let all = (UInt8.min...UInt8.max).map { $0 }
        let text = Hexadecimal.encode(all)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
        #expect(Hexadecimal.decode(text) == all && Hexadecimal.decode(text.uppercased()) == all)
    }

    @Test("Anything else stands for nothing", arguments: ["0", "0g", "+1", " 1", "0x", "１1", "00 "])
    func refused(text: String) {
        #expect(Hexadecimal.decode(text) == nil)
    }

    @Test("A number has all its digits")
    func numbers() {
        #expect(Hexadecimal.encode(0 as UInt8) == "00" && Hexadecimal.encode(0xab as UInt16) == "00ab")
        #expect(Hexadecimal.encode(UInt64.max) == String(repeating: "f", count: 16))
        #expect(Hexadecimal.encode(1 as UInt128) == String(repeating: "0", count: 31) + "1")
    }

    @Test(
        "RFC 4648's examples of Base 32, without their padding",
        arguments: [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ])
    func base32(text: String, encoded: String) {
        #expect(Base32.encode(Array(text.utf8)) == encoded)
    }
}
