import Testing

@testable import Cryptography

@Suite("ES256 signing keys")
struct P256SigningTests {
    /// RFC 7515, A.3: its key as SEC 1 in PEM, and its public point.
    static let pem = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
        AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
        focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END EC PRIVATE KEY-----
        """
    static let x = bytes("7fcdce2770f6c45d4183cbee6fdb4b7b580733357be9ef13bacf6e3c7bd15445")
    static let y = bytes("c7f144cd1bbd9b7e872cdfedb9eeb9f4b3695d6ea90b24ad8a4623288588e5ad")

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
    }

    @Test("A PEM key is the key it says, in SEC 1 and in PKCS#8")
    func knownKey() throws {
        let key = try P256SigningKey(pem: Secret(Self.pem))
        #expect(key.x == Self.x && key.y == Self.y)
        let again = try P256SigningKey(pem: key.privateKeyPEM())
        #expect(again.x == Self.x && again.y == Self.y)
        #expect(try key.privateKeyPEM().exposeText().hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test("What is signed verifies with the public key, and no other message does")
    func signing() throws {
        let key = try P256SigningKey.generate()
        let public_ = try key.verificationKey()
        // Short numbers are padded: of so many signatures some have a zero in front.
        for index in 0..<600 {
            let message = Array("message \(index)".utf8)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(public_.verify(signature: signature, of: message, algorithm: .es256))
            #expect(!public_.verify(signature: signature, of: message + [0], algorithm: .es256))
        }
    }

    @Test("Keys differ, and one's signature is not another's")
    func different() throws {
        let (one, other) = (try P256SigningKey.generate(), try P256SigningKey.generate())
        #expect(one.x != other.x)
        #expect(try !other.verificationKey().verify(signature: one.sign([1]), of: [1], algorithm: .es256))
    }

    static let refused: [(name: String, pem: String)] = [
        ("nothing", ""), ("no PEM", "hunter2"),
        (
            "P-384",
            """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAq1SpjOsfCtKhZANiAATYoX5VuOL0
            e8Np/ZYWaVzic9zk4weDCmX1pKmqiWfJh67qetNlZ3oTv9ZcP+WmaTm9xTVCxSE6
            UTRduoIgq7I8cWWaTYULO7r/jQNb0IpZ6zIJnJapBJ5NfUNc9nVxO8g=
            -----END PRIVATE KEY-----
            """
        ),
        (
            "another curve of 256 bits",
            """
            -----BEGIN PRIVATE KEY-----
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAq1SpjOsfCtKhRANCAASZwSbaIDl1WPI2WHZMOnxYPbf/cG6TmBzB
            cOJ8qDNiATdRAH8CjwIbSh/0KsbSkWbGvOEPXMsupTcPf1ultyls
            -----END PRIVATE KEY-----
            """
        ),
        (
            "a public key",
            """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
            6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
            -----END PUBLIC KEY-----
            """
        ),
    ]

    @Test("What is no private key on P-256 is refused", arguments: refused)
    func refusal(name: String, pem: String) {
        #expect(throws: CryptographyError.self) { try P256SigningKey(pem: Secret(pem)) }
    }

    @Test("An RSA key is refused")
    func otherKind() throws {
        let pem = try SignatureTests.signingKey.get().privateKeyPEM()
        #expect(throws: CryptographyError.unacceptableKey("not an EC key on P-256")) { try P256SigningKey(pem: pem) }
    }

    // MARK: DER

    static let one = [UInt8](repeating: 0, count: 31) + [1]
    static let high = [UInt8](repeating: 0x80, count: 32)

    @Test("DER is unfolded to 32 bytes each: numbers that are short, and those with a zero in front")
    func unfolding() {
        let raw = Self.one + Self.high
        let encoded = [0x30, 38, 0x02, 1, 1, 0x02, 33, 0] + Self.high
        #expect(ECDSASignature.raw(encoded: encoded[...], curve: .p256) == raw)
    }

    static let malformed: [(name: String, encoded: [UInt8])] = [
        ("empty", []), ("no sequence", [0x31, 6, 2, 1, 1, 2, 1, 1]), ("short", [0x30, 6, 2, 1, 1, 2, 1]),
        ("trailing byte", [0x30, 6, 2, 1, 1, 2, 1, 1, 0]),
        ("trailing in the sequence", [0x30, 7, 2, 1, 1, 2, 1, 1, 0]),
        ("long form of the length", [0x30, 0x81, 6, 2, 1, 1, 2, 1, 1]), ("no integer", [0x30, 6, 3, 1, 1, 2, 1, 1]),
        ("one number", [0x30, 3, 2, 1, 1]), ("zero", [0x30, 6, 2, 1, 0, 2, 1, 1]),
        ("empty number", [0x30, 5, 2, 0, 2, 1, 1]), ("negative", [0x30, 6, 2, 1, 0x81, 2, 1, 1]),
        ("zero too many", [0x30, 7, 2, 2, 0, 1, 2, 1, 1]),
        ("33 bytes", [0x30, 38, 0x02, 33] + [UInt8](repeating: 1, count: 33) + [0x02, 1, 1]),
        ("n", [0x30, 38, 0x02, 33, 0] + EllipticCurve.p256.order + [0x02, 1, 1]),
        ("length beyond the end", [0x30, 6, 2, 1, 1, 2, 9, 1]),
    ]

    @Test("Anything but the one encoding of two numbers below n is refused", arguments: malformed)
    func strictness(name: String, encoded: [UInt8]) {
        #expect(ECDSASignature.raw(encoded: encoded[...], curve: .p256) == nil)
    }
}
