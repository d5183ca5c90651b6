import Encoding
import Testing

@testable import Cryptography

@Suite("One-time passwords, HKDF and Base 32")
struct OneTimePasswordTests {
    static let key = Secret("12345678901234567890")

    @Test(
        "HOTP gives the codes of RFC 4226, appendix D",
        arguments: [
            (0, "755224"), (1, "287082"), (2, "359152"), (3, "969429"), (4, "338314"), (5, "254676"), (6, "287922"),
            (7, "162583"), (8, "399871"), (9, "520489"),
        ] as [(UInt64, String)])
    func hotp(counter: UInt64, code: String) {
        #expect(OneTimePassword.code(key: Self.key, counter: counter) == code)
    }

    @Test(
        "TOTP gives the codes of RFC 6238, appendix B",
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)])
    func totp(seconds: Int64, code: String) {
        let counter = OneTimePassword.counter(at: seconds)
        #expect(OneTimePassword.code(key: Self.key, counter: counter, digits: 8) == code)
    }

    @Test("A code is right in its step and in the ones beside it, and says which step it is of")
    func window() {
        let code = OneTimePassword.code(key: Self.key, counter: 100)
        #expect(OneTimePassword.match(code, key: Self.key, at: 98 * 30 + 29) == nil)
        #expect(OneTimePassword.match(code, key: Self.key, at: 99 * 30) == 100)
        #expect(OneTimePassword.match(code, key: Self.key, at: 100 * 30) == 100)
        #expect(OneTimePassword.match(code, key: Self.key, at: 101 * 30 + 29) == 100)
        #expect(OneTimePassword.match(code, key: Self.key, at: 102 * 30) == nil)
        #expect(OneTimePassword.match("755224", key: Self.key, at: 0) == 0)
        #expect(OneTimePassword.match("", key: Self.key, at: 0) == nil)
    }

    @Test(
        "Base 32 gives RFC 4648's examples without their padding",
        arguments: [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ])
    func base32(text: String, encoded: String) {
        #expect(Base32.encode(Array(text.utf8)) == encoded)
    }

    /// RFC 5869, A.1 to A.3: input, salt, info, output.
    static let derivations: [(String, String, String, String)] = [
        (
            String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            (0x00...0x4f).hexadecimal, (0x60...0xaf).hexadecimal, (0xb0...0xff).hexadecimal,
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
        (
            String(repeating: "0b", count: 22), "", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ]

    @Test("HKDF gives RFC 5869's output", arguments: derivations)
    func hkdf(input: String, salt: String, info: String, output: String) {
        let expected = bytes(hex: output)
        #expect(
            HKDFSHA256.derive(
                from: bytes(hex: input), salt: bytes(hex: salt), info: bytes(hex: info), byteCount: expected.count)
                == expected)
    }
}

extension ClosedRange<UInt8> {
    fileprivate var hexadecimal: String { Hexadecimal.encode(Array(self)) }
}
