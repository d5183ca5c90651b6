import Testing

@testable import GatehouseClient

@Suite("The nonce of Sign in with Apple")
struct NonceTests {
    @Test(
        "The hash is the lowercase hexadecimal SHA-256 of the raw nonce",
        arguments: [
            // FIPS 180-4's examples (NIST, SHA256.pdf), and the empty text.
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func hashed(raw: String, hash: String) { #expect(AppleNonce(raw: raw).hashed == hash) }
}
