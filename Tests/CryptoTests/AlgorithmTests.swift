import Testing

@testable import Cryptography

@Suite("Every algorithm's keys and signatures")
struct AlgorithmTests {
    typealias Vectors = AlgorithmVectors

    static let signatures: [(SignatureAlgorithm, [UInt8])] = [
        (.rs256, Vectors.rs256), (.rs384, Vectors.rs384), (.rs512, Vectors.rs512),
        (.ps256, Vectors.ps256), (.ps384, Vectors.ps384), (.ps512, Vectors.ps512),
        (.es256, Vectors.es256), (.es384, Vectors.es384), (.es512, Vectors.es512), (.edDSA, Vectors.edDSA),
        (.hs256, Vectors.hs256), (.hs384, Vectors.hs384), (.hs512, Vectors.hs512),
    ]

    static func key(_ algorithm: SignatureAlgorithm) throws -> VerificationKey {
        switch algorithm.keyType {
        case .rsa: try .rsa(modulus: Vectors.modulus, exponent: [1, 0, 1], algorithm: algorithm)
        case .ellipticCurve(.p256): try .ellipticCurve(.p256, x: Vectors.x256, y: Vectors.y256, algorithm: algorithm)
        case .ellipticCurve(.p384): try .ellipticCurve(.p384, x: Vectors.x384, y: Vectors.y384, algorithm: algorithm)
        case .ellipticCurve(.p521): try .ellipticCurve(.p521, x: Vectors.x521, y: Vectors.y521, algorithm: algorithm)
        case .ed25519: try .ed25519(Vectors.ed25519)
        case .secret: try .shared(Secret(Vectors.secret), algorithm: algorithm)
        }
    }

    static func algorithm(of curve: EllipticCurve) -> SignatureAlgorithm {
        switch curve {
        case .p256: .es256
        case .p384: .es384
        case .p521: .es512
        }
    }

    static func verifies(_ algorithm: SignatureAlgorithm, _ signature: [UInt8]) throws -> Bool {
        try key(algorithm).verify(signature: signature, of: Vectors.message, algorithm: algorithm)
    }

    @Test("Another implementation's signature verifies, again and again, and over its message only")
    func otherImplementation() throws {
        #expect(Self.signatures.map(\.0).count == SignatureAlgorithm.allCases.count)
        for (algorithm, signature) in Self.signatures {
            let key = try Self.key(algorithm)
            for _ in 0..<3 {
                #expect(key.verify(signature: signature, of: Vectors.message, algorithm: algorithm), "\(algorithm)")
                #expect(!key.verify(signature: signature, of: Vectors.message + [0], algorithm: algorithm))
            }
            #expect(!key.verify(signature: signature, of: [], algorithm: algorithm), "\(algorithm)")
        }
        #expect(try Self.verifies(.es256, Vectors.es256WithShortR))
        #expect(try Self.verifies(.es384, Vectors.es384WithShortR))
        #expect(try Self.verifies(.es512, Vectors.es512WithShortR))
    }

    @Test("The examples of RFC 7515 A.1 and A.3 and RFC 8037 A.4 verify")
    func knownAnswers() throws {
        let hmac = try VerificationKey.shared(Secret(RFC7515A1.secret), algorithm: .hs256)
        #expect(hmac.verify(signature: RFC7515A1.signature, of: RFC7515A1.message, algorithm: .hs256))
        let ecdsa = try VerificationKey.ellipticCurve(.p256, x: RFC7515A3.x, y: RFC7515A3.y, algorithm: .es256)
        #expect(ecdsa.verify(signature: RFC7515A3.signature, of: RFC7515A3.message, algorithm: .es256))
        let edDSA = try VerificationKey.ed25519(RFC8037A4.key)
        #expect(edDSA.verify(signature: RFC8037A4.signature, of: RFC8037A4.message, algorithm: .edDSA))
    }

    @Test("No signature verifies with any byte changed, nor shorter, longer or empty", arguments: signatures)
    func altered(algorithm: SignatureAlgorithm, signature: [UInt8]) throws {
        let key = try Self.key(algorithm)
        for index in signature.indices {
            var altered = signature
            altered[index] ^= 0x01
            #expect(!key.verify(signature: altered, of: Vectors.message, algorithm: algorithm), "byte \(index)")
        }
        let wrong = [
            [], Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature,
            signature + signature, [UInt8](repeating: 0, count: signature.count),
            [UInt8](repeating: 0xff, count: signature.count),
        ]
        for signature in wrong {
            #expect(!key.verify(signature: signature, of: Vectors.message, algorithm: algorithm))
        }
    }

    @Test("A key verifies its own algorithm only, and another algorithm's signature never", arguments: signatures)
    func confusion(algorithm: SignatureAlgorithm, signature: [UInt8]) throws {
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(!(try Self.verifies(other, signature)), "\(other)")
            #expect(!(try Self.key(other)).verify(signature: signature, of: Vectors.message, algorithm: algorithm))
        }
    }

    @Test("PSS has MGF1 of its own digest and a salt as long as it (RFC 7518, 3.5)")
    func pss() throws {
        #expect(!(try Self.verifies(.ps256, Vectors.ps256WithoutSalt)))
        #expect(!(try Self.verifies(.ps256, Vectors.ps256WithLongSalt)))
        #expect(!(try Self.verifies(.ps256, Vectors.ps256WithOtherMask)))
    }

    // MARK: ECDSA, row 28

    /// `a + b` of two big-endian numbers of one length; nil if it needs another byte.
    static func sum(_ a: some Collection<UInt8>, _ b: [UInt8]) -> [UInt8]? {
        var (sum, carry) = (Array(a), 0)
        for index in sum.indices.reversed() {
            carry += Int(sum[index]) + Int(b[index])
            sum[index] = UInt8(carry & 0xff)
            carry >>= 8
        }
        return carry == 0 ? sum : nil
    }

    /// `a − b` of two big-endian numbers of one length, `b` being the smaller.
    static func difference(_ a: [UInt8], _ b: some Collection<UInt8>) -> [UInt8] {
        var (difference, borrow) = (a, 0)
        for (index, digit) in zip(a.indices, b).reversed() {
            let value = Int(a[index]) - Int(digit) - borrow
            difference[index] = UInt8(value & 0xff)
            borrow = value < 0 ? 1 : 0
        }
        return difference
    }

    @Test("Row 28: r and s outside 1..<n, DER and other lengths are no signature", arguments: EllipticCurve.allCases)
    func ecdsa(curve: EllipticCurve) throws {
        let algorithm = Self.algorithm(of: curve)
        let signature = [.es256: Vectors.es256, .es384: Vectors.es384][algorithm] ?? Vectors.es512
        let (r, s) = (Array(signature.prefix(curve.byteCount)), Array(signature.suffix(curve.byteCount)))
        let zero = [UInt8](repeating: 0, count: curve.byteCount)
        let one: [UInt8] = Array(zero.dropLast()) + [1]
        let most = [UInt8](repeating: 0xff, count: curve.byteCount)
        let encoded = try #require(ECDSASignature(raw: signature, curve: curve)).encoded
        var wrong: [[UInt8]] = [
            zero + zero, zero + s, r + zero, one + one, curve.order + s, r + curve.order, curve.order + curve.order,
            most + s, r + most, s + r, [0] + signature, signature + [0], [0] + r + [0] + s, [0] + r + s.dropFirst(),
            encoded, difference(curve.order, r) + s,
        ]
        // Where there is room, the same number modulo n is another spelling.
        for twin in [sum(of: r, curve).map { $0 + s }, sum(of: s, curve).map { r + $0 }] {
            if let twin { wrong.append(twin) }
        }
        for (index, bytes) in wrong.enumerated() {
            #expect(!(try Self.verifies(algorithm, bytes)), "\(index)")
        }
        let outside: [[UInt8]] = [
            zero + zero, zero + s, r + zero, curve.order + s, r + curve.order, most + s, r + most, encoded,
        ]
        for (index, bytes) in outside.enumerated() {
            #expect(ECDSASignature(raw: bytes, curve: curve) == nil, "\(index)")
        }
    }

    private func sum(of number: [UInt8], _ curve: EllipticCurve) -> [UInt8]? { Self.sum(number, curve.order) }
    private func difference(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { Self.difference(a, b) }

    @Test("Row 28: What is so small that n may be added to it is refused before OpenSSL sees it")
    func sumWithOrder() {
        let small = [UInt8](repeating: 0, count: 31) + [7]
        let twin = Self.sum(small, EllipticCurve.p256.order) ?? []
        #expect(twin.count == 32)
        #expect(ECDSASignature(raw: twin + small, curve: .p256) == nil)
        #expect(ECDSASignature(raw: small + twin, curve: .p256) == nil)
        let most = Self.difference(EllipticCurve.p256.order, [UInt8](repeating: 0, count: 31) + [1])
        #expect(ECDSASignature(raw: most + small, curve: .p256) != nil)
    }

    @Test("Row 33: The twin n − s does verify, as ECDSA has it: what is revoked is so by its claims")
    func twin() throws {
        let s = Self.difference(EllipticCurve.p256.order, Vectors.es256.suffix(32))
        #expect(try Self.verifies(.es256, Vectors.es256.prefix(32) + s))
    }

    @Test("ECDSA's digest is its algorithm's, and DER from a signer is refused")
    func ecdsaForms() throws {
        #expect(!(try Self.verifies(.es256, Vectors.es256OfSHA384)))
        #expect(!(try Self.verifies(.es256, Vectors.es256InDER)))
        #expect(ECDSASignature(raw: Vectors.es256, curve: .p256)?.encoded == Vectors.es256InDER)
    }

    // MARK: Ed25519, row 29

    @Test("Row 29: S + L, R of small order with S = 0, and zeros are no signature")
    func edDSA() throws {
        // L = 2^252 + 27742317777372353535851937790883648493, little endian (RFC 8032, 5.1).
        let order: [UInt8] =
            [0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14]
            + [UInt8](repeating: 0, count: 15) + [0x10]
        let r = Array(Vectors.edDSA.prefix(32))
        let twin = try #require(Self.sum(Vectors.edDSA.suffix(32).reversed(), order.reversed()))
        let zero = [UInt8](repeating: 0, count: 32)
        let identity: [UInt8] = [1] + zero.dropFirst()
        for signature in [r + twin.reversed(), r + order, r + zero, identity + zero, zero + zero, identity + order] {
            #expect(!(try Self.verifies(.edDSA, signature)))
        }
    }
}
