import Encoding
import Testing

@testable import Cryptography

@Suite("AES-256-GCM and password hashes")
struct SealingTests {
    /// The GCM specification's test case 16 (McGrew and Viega, appendix B).
    static let key = bytes(hex: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    static let nonce = bytes(hex: "cafebabefacedbaddecaf888")
    static let authenticated = bytes(hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2")
    static let plaintext = bytes(
        hex: """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
    static let ciphertextAndTag = bytes(
        hex: """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
            8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            76fc6ece0f4e1768cddf8853bb2d551b
            """)

    @Test("AES-256-GCM gives the specification's test case 16")
    func knownAnswer() throws {
        let key = try AESGCMKey(Secret(Self.key))
        let sealed = try key.seal(Self.plaintext, authenticating: Self.authenticated, nonce: Self.nonce)
        #expect(sealed == Self.nonce + Self.ciphertextAndTag)
        #expect(try key.open(sealed, authenticating: Self.authenticated) == Self.plaintext)
    }

    @Test("A text is opened as it was sealed, and two seals differ", arguments: [0, 1, 15, 16, 17, 5000])
    func roundTrip(count: Int) throws {
        let key = try AESGCMKey(Secret(SecureRandom.bytes(32)))
        let text = SecureRandom.bytes(count)
        let sealed = try key.seal(text, authenticating: [])
        #expect(sealed.count == 12 + count + 16)
        #expect(try key.open(sealed, authenticating: []) == text)
        #expect(try key.seal(text, authenticating: []) != sealed)
    }

    @Test("A sealed text with any bit changed is not authentic")
    func alteredText() throws {
        let key = try AESGCMKey(Secret(Self.key))
        let sealed = try key.seal(Array("refresh".utf8), authenticating: [7])
        for bit in 0..<sealed.count * 8 {
            var altered = sealed
            altered[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: CryptographyError.notAuthentic, "bit \(bit)") {
                try key.open(altered, authenticating: [7])
            }
        }
    }

    @Test("Other authenticated data, another key, a cut or lengthened text are not authentic")
    func otherContext() throws {
        let key = try AESGCMKey(Secret(Self.key))
        let other = try AESGCMKey(Secret(SecureRandom.bytes(32)))
        let sealed = try key.seal([1, 2, 3], authenticating: [7])
        #expect(throws: CryptographyError.notAuthentic) { try key.open(sealed, authenticating: [8]) }
        #expect(throws: CryptographyError.notAuthentic) { try key.open(sealed, authenticating: []) }
        #expect(throws: CryptographyError.notAuthentic) { try other.open(sealed, authenticating: [7]) }
        #expect(throws: CryptographyError.notAuthentic) { try key.open(sealed + [0], authenticating: [7]) }
        for count in 0..<sealed.count {
            #expect(throws: CryptographyError.notAuthentic, "\(count) bytes") {
                try key.open(Array(sealed.prefix(count)), authenticating: [7])
            }
        }
    }

    @Test("Keys of another size than 32 bytes are refused", arguments: [0, 16, 31, 33])
    func keySize(count: Int) {
        #expect(throws: CryptographyError.self) { try AESGCMKey(Secret([UInt8](repeating: 1, count: count))) }
    }

    @Test("A password matches its own hash only", arguments: ["", "correct horse", "пароль"])
    func passwords(password: String) throws {
        let stored = try PasswordHash.make(Secret(password))
        #expect(stored.hasPrefix("scrypt$15$8$1$"))
        #expect(PasswordHash.matches(Secret(password), stored))
        #expect(!PasswordHash.matches(Secret(password + "!"), stored))
    }

    @Test("A hash of another cost matches as well")
    func cheapPassword() throws {
        let stored = try PasswordHash.make(Secret("correct horse"), logN: 10)
        #expect(stored.hasPrefix("scrypt$10$8$1$"))
        #expect(PasswordHash.matches(Secret("correct horse"), stored))
        #expect(!PasswordHash.matches(Secret("correct house"), stored))
    }

    @Test("A stored hash with the cost and salt of another program is understood")
    func foreignPasswordHash() {
        // Python: hashlib.scrypt(b"secret", salt=bytes(range(16)), n=1024, r=8, p=1, dklen=32)
        let stored =
            "scrypt$10$8$1$000102030405060708090a0b0c0d0e0f$31d73f8d308fcbeb94f1a48b6ccf85181402fc05d2cdf582b0052417f5580a09"
        #expect(PasswordHash.matches(Secret("secret"), stored))
        #expect(!PasswordHash.matches(Secret("Secret"), stored))
    }

    @Test(
        "What isn't a stored hash, or asks for an unreasonable cost, matches nothing",
        arguments: [
            "", "scrypt", "secret", "scrypt$10$8$1$00$", "scrypt$10$8$1$0$00", "bcrypt$10$8$1$00$00",
            "scrypt$40$8$1$00$" + String(repeating: "00", count: 32),
            "scrypt$10$9999999$1$00$" + String(repeating: "00", count: 32),
            "scrypt$-1$8$1$00$" + String(repeating: "00", count: 32),
            "scrypt$10$8$1$zz$" + String(repeating: "00", count: 32),
        ])
    func malformedPasswordHash(stored: String) {
        #expect(!PasswordHash.matches(Secret(""), stored))
    }

    @Test("Secrets and errors print nothing secret")
    func redaction() {
        #expect("\(Secret("hunter2"))" == "<redacted>")
        #expect(String(reflecting: Secret("hunter2")) == "<redacted>")
    }
}
