import Testing

@testable import Cryptography

@Suite("RSA keys and signatures")
struct SignatureTests {
    /// One key for the whole process: making one takes long.
    static let signingKey = Result { try RSASigningKey.generate(bits: 2048) }

    @Test("RFC 7515 A.2's signature verifies")
    func knownAnswer() throws {
        let key = try VerificationKey.rsa(modulus: RFC7515A2.modulus, exponent: RFC7515A2.exponent)
        #expect(key.verify(signature: RFC7515A2.signature, of: RFC7515A2.message, algorithm: .rs256))
        // Leading zeros of a number say nothing.
        let same = try VerificationKey.rsa(modulus: [0, 0] + RFC7515A2.modulus, exponent: [0] + RFC7515A2.exponent)
        #expect(same.verify(signature: RFC7515A2.signature, of: RFC7515A2.message, algorithm: .rs256))
        #expect(key.isSameKey(as: same))
    }

    @Test("A signature or message with any byte changed does not verify")
    func altered() throws {
        let key = try VerificationKey.rsa(modulus: RFC7515A2.modulus, exponent: RFC7515A2.exponent)
        for index in RFC7515A2.signature.indices {
            var signature = RFC7515A2.signature
            signature[index] ^= 0x01
            #expect(!key.verify(signature: signature, of: RFC7515A2.message, algorithm: .rs256), "byte \(index)")
        }
        for index in RFC7515A2.message.indices {
            var message = RFC7515A2.message
            message[index] ^= 0x20
            #expect(!key.verify(signature: RFC7515A2.signature, of: message, algorithm: .rs256), "byte \(index)")
        }
    }

    /// s + n is the same number modulo n; accepting it would give one token several spellings (threats row 30).
    static var badlySized: [(name: String, signature: [UInt8])] {
        let signature = RFC7515A2.signature
        var sum = [UInt8](repeating: 0, count: signature.count)
        var carry = 0
        for index in signature.indices.reversed() {
            carry += Int(signature[index]) + Int(RFC7515A2.modulus[index])
            sum[index] = UInt8(carry & 0xff)
            carry >>= 8
        }
        return [
            ("empty", []),
            ("zero", [UInt8](repeating: 0, count: signature.count)),
            ("one", [UInt8](repeating: 0, count: signature.count - 1) + [1]),
            ("n", RFC7515A2.modulus),
            ("s + n", carry == 0 ? sum : [UInt8(carry)] + sum),
            ("short", Array(signature.dropLast())),
            ("long", signature + [0]),
            ("leading zero", [0] + signature),
            ("doubled", signature + signature),
        ]
    }

    @Test("Signatures outside the modulus or of another length do not verify", arguments: badlySized)
    func size(name: String, signature: [UInt8]) throws {
        let key = try VerificationKey.rsa(modulus: RFC7515A2.modulus, exponent: RFC7515A2.exponent)
        #expect(!key.verify(signature: signature, of: RFC7515A2.message, algorithm: .rs256))
    }

    static let unacceptableKeys: [(name: String, modulus: [UInt8], exponent: [UInt8])] = [
        ("no modulus", [], [1, 0, 1]),
        ("zero modulus", [UInt8](repeating: 0, count: 256), [1, 0, 1]),
        ("1024 bits", [0x81] + [UInt8](repeating: 1, count: 127), [1, 0, 1]),
        ("2047 bits", [0x7f] + RFC7515A2.modulus.dropFirst(), [1, 0, 1]),
        ("zeros in front of 1024 bits", [UInt8](repeating: 0, count: 128) + RFC7515A2.modulus.prefix(128), [1, 0, 1]),
        ("even modulus", RFC7515A2.modulus.dropLast() + [0xa0], [1, 0, 1]),
        ("too large", [UInt8](repeating: 0xff, count: 2049), [1, 0, 1]),
        ("no exponent", RFC7515A2.modulus, []),
        ("e = 1", RFC7515A2.modulus, [1]),
        ("e = 3", RFC7515A2.modulus, [3]),
        ("e = 65535", RFC7515A2.modulus, [0xff, 0xff]),
        ("even e", RFC7515A2.modulus, [1, 0, 2]),
        ("huge e", RFC7515A2.modulus, RFC7515A2.modulus),
    ]

    @Test("Weak RSA keys are refused", arguments: unacceptableKeys)
    func unacceptable(name: String, modulus: [UInt8], exponent: [UInt8]) {
        #expect(throws: CryptographyError.self) { try VerificationKey.rsa(modulus: modulus, exponent: exponent) }
    }

    @Test("A made key signs what its public half verifies, and survives PEM")
    func signing() throws {
        let key = try Self.signingKey.get()
        let message = Array("a message".utf8)
        let signature = try key.sign(message)
        #expect(signature.count == 256)
        #expect(key.modulus.count == 256 && key.exponent == [1, 0, 1])
        let verification = try key.verificationKey()
        #expect(verification.verify(signature: signature, of: message, algorithm: .rs256))
        #expect(!verification.verify(signature: signature, of: message + [0], algorithm: .rs256))

        let again = try RSASigningKey(pem: key.privateKeyPEM())
        #expect(again.modulus == key.modulus && again.exponent == key.exponent)
        #expect(try again.sign(message) == signature)
    }

    @Test("Another key does not verify it, and isn't the same key")
    func otherKey() throws {
        let key = try Self.signingKey.get()
        let other = try VerificationKey.rsa(modulus: RFC7515A2.modulus, exponent: RFC7515A2.exponent)
        #expect(!other.verify(signature: try key.sign([1]), of: [1], algorithm: .rs256))
        #expect(!other.isSameKey(as: try key.verificationKey()))
    }

    @Test(
        "What isn't an unencrypted RSA private key is refused without asking for anything",
        arguments: [
            "", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            // An EC key.
            """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/1fn1g2I+Fz/+wdb
            eq2rsBcyVW+z/+6Mnya4Rh3RM0+hRANCAARKPZ0FfkeNBfMwuy6VCIKlH6dHAX9g
            cUc9u4nSTEO3yaNZ51XVtoRJf2Bwe7CVJhyWHDTU9+Yqd31T34sZH3B9
            -----END PRIVATE KEY-----
            """,
            // An encrypted key.
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhacp3/ghSG5gICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEELLq8MYgNNk18swK2VNLIekEgZBw
            yWjaYtk6n9Od0WuekIMrCj47parfk/0mPEa7wmp5THSiv7fvrQMzJBxwMdoxuIOC
            q7JTG0Dle/aQbiijeCM6o3yDENeTS4Qb62Wwz6+CnrLRr2aj1E9E5/T5eIymfW+7
            gPeBRtfAQDS1fUPzVwGXnFFg29hXbcGypufQc3+XBFEzBQAKN/KnyafsMqrcaVU=
            -----END ENCRYPTED PRIVATE KEY-----
            """,
        ])
    func badPEM(text: String) {
        #expect(throws: CryptographyError.self) { try RSASigningKey(pem: Secret(text)) }
    }

    @Test("Keys below 2048 bits are not made")
    func smallKeys() {
        #expect(throws: CryptographyError.self) { try RSASigningKey.generate(bits: 1024) }
    }

    @Test("One key verifies on many threads at once")
    func concurrency() async throws {
        let key = try VerificationKey.rsa(modulus: RFC7515A2.modulus, exponent: RFC7515A2.exponent)
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<200).count { _ in
                        !key.verify(signature: RFC7515A2.signature, of: RFC7515A2.message, algorithm: .rs256)
                            || key.verify(signature: RFC7515A2.signature, of: [1], algorithm: .rs256)
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
