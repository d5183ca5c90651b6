import Encoding
import Testing

@Suite("Base64")
struct Base64Tests {
    /// RFC 4648, 10.
    static let vectors: [(plain: String, encoded: String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("RFC 4648's examples go both ways", arguments: vectors)
    func examples(plain: String, encoded: String) {
        let bytes = Array(plain.utf8)
        #expect(Base64.encode(bytes) == encoded)
        #expect(Base64.decode(encoded.utf8) == bytes)
        let unpadded = String(encoded.prefix { $0 != "=" })
        #expect(Base64URL.encode(bytes) == unpadded)
        #expect(Base64URL.decode(unpadded.utf8) == bytes)
    }

    @Test("The alphabets differ in their last two characters only")
    func alphabets() {
        let bytes: [UInt8] = [0xfb, 0xff, 0xbf]
        #expect(Base64.encode(bytes) == "+/+/" && Base64URL.encode(bytes) == "-_-_")
        #expect(Base64.decode("-_-_".utf8) == nil && Base64URL.decode("+/+/".utf8) == nil)
        let all = (0...255).map { UInt8($0) }
        #expect(Base64.decode(Base64.encode(all).utf8) == all)
        #expect(Base64URL.decode(Base64URL.encode(all).utf8) == all)
    }

    /// Threats row 25: padding, the other alphabet, white space, bits over, an impossible length.
    @Test(
        "Other spellings are refused by the URL-safe form",
        arguments: [
            "Zg==", "Zg=", "=", "Z", "Zm9vY", "Zh", "Zm9", "Zg\n", " Zg", "Zm 9v", "Zm9v.", "Zm%39", "Zé", "Z\u{0}",
        ])
    func strictURLSafe(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test(
        "Other spellings are refused by the padded form",
        arguments: [
            "Zg", "Zg=", "Zg===", "====", "Z===", "Zh==", "Zm9=", "Zg==\n", "Zg==Zg==", "=Zg=", "Zm 9v", "Zm-v",
        ])
    func strictPadded(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test("A byte outside the alphabet is refused wherever it stands", arguments: 0..<11)
    func strictEverywhere(position: Int) {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max where !alphabet.contains(byte) {
            var text = Array("AAAAAAAAAAA".utf8)
            text[position] = byte
            #expect(Base64URL.decode(text) == nil, "\(byte)")
        }
    }
}
