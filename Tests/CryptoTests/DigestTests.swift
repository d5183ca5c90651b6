import Testing

@testable import Cryptography

@Suite("SHA-256, HMAC and comparison")
struct DigestTests {
    @Test("Secrets are equal when their bytes are")
    func secrets() {
        #expect(Secret("a") == Secret([0x61]))
        #expect(Secret("a") != Secret("b"))
        #expect(Secret("a") != Secret("aa"))
        #expect(Secret("") == Secret(""))
    }

    @Test(
        "SHA-256 gives FIPS 180-4's examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func sha256(message: String, digest: String) {
        #expect(SHA256.hash(Array(message.utf8)) == bytes(hex: digest))
    }

    @Test(
        "SHA-1 gives FIPS 180-4's examples",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ])
    func sha1(message: String, digest: String) {
        #expect(SHA1.hash(Array(message.utf8)) == bytes(hex: digest))
    }

    /// RFC 4231, cases 1, 2, 3 and 6 (a key longer than a block).
    static let authenticationCodes: [(key: [UInt8], message: [UInt8], code: String)] = [
        (
            Array(repeating: 0x0b, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Array(repeating: 0xaa, count: 20), Array(repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ([], [], "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ]

    @Test("HMAC-SHA-256 gives RFC 4231's codes", arguments: authenticationCodes)
    func hmac(key: [UInt8], message: [UInt8], code: String) {
        #expect(HMACSHA256.authenticationCode(for: message, key: key) == bytes(hex: code))
    }

    @Test("Comparison in constant time compares every byte and the length")
    func comparison() {
        let reference: [UInt8] = [1, 2, 3, 4]
        #expect(constantTimeEquals(reference, [1, 2, 3, 4]))
        #expect(constantTimeEquals([], []))
        for index in reference.indices {
            var other = reference
            other[index] ^= 0x80
            #expect(!constantTimeEquals(reference, other), "differs at \(index)")
        }
        #expect(!constantTimeEquals(reference, [1, 2, 3]))
        #expect(!constantTimeEquals(reference, [1, 2, 3, 4, 0]))
    }

    @Test("Random bytes have the length asked for and don't repeat", arguments: [0, 1, 12, 32, 1000])
    func random(count: Int) {
        let first = SecureRandom.bytes(count)
        #expect(first.count == count)
        if count >= 12 { #expect(first != SecureRandom.bytes(count)) }
    }
}
