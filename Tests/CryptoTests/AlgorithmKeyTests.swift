import Testing

@testable import Cryptography

@Suite("Keys of curves and secrets")
struct AlgorithmKeyTests {
    typealias Vectors = AlgorithmVectors

    static let badPoints: [(name: String, curve: EllipticCurve, x: [UInt8], y: [UInt8])] = [
        ("off the curve", .p256, Vectors.x256, Vectors.x256),
        ("changed y", .p256, Vectors.x256, Vectors.y256.dropLast() + [Vectors.y256[31] ^ 1]),
        ("zero", .p256, [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32)),
        ("beyond the field", .p256, [UInt8](repeating: 0xff, count: 32), Vectors.y256),
        ("empty", .p256, [], []), ("short", .p256, Array(Vectors.x256.dropFirst()), Vectors.y256),
        ("long", .p256, [0] + Vectors.x256, Vectors.y256), ("another curve's", .p256, Vectors.x384, Vectors.y384),
        ("another curve's", .p384, Vectors.x256, Vectors.y256),
        (
            "padded", .p384, [UInt8](repeating: 0, count: 16) + Vectors.x256,
            [UInt8](repeating: 0, count: 16) + Vectors.y256
        ),
        ("off the curve", .p384, Vectors.x384, Vectors.x384), ("off the curve", .p521, Vectors.x521, Vectors.x521),
        ("without its first zero bits", .p521, Array(Vectors.x521.dropFirst()), Array(Vectors.y521.dropFirst())),
    ]

    @Test("Row 31: A point that is not on its curve is no key", arguments: badPoints)
    func offCurve(name: String, curve: EllipticCurve, x: [UInt8], y: [UInt8]) {
        #expect(throws: CryptographyError.self) {
            try VerificationKey.ellipticCurve(curve, x: x, y: y, algorithm: AlgorithmTests.algorithm(of: curve))
        }
    }

    /// y = 2 has no x; what is p or more is another spelling; 32 bytes that are a point of small order.
    static let badEd25519: [(name: String, bytes: [UInt8])] = [
        ("empty", []), ("short", Array(Vectors.ed25519.dropLast())), ("long", Vectors.ed25519 + [0]),
        ("no point", [2] + [UInt8](repeating: 0, count: 31)),
        ("zero", [UInt8](repeating: 0, count: 32)), ("identity", [1] + [UInt8](repeating: 0, count: 31)),
        ("identity, signed", [1] + [UInt8](repeating: 0, count: 30) + [0x80]),
        ("order 2", [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f]),
        ("p", [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f]),
        ("p + 3", [0xf0] + [UInt8](repeating: 0xff, count: 30) + [0x7f]),
        ("order 8", bytes(hex: "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")),
        ("order 8", bytes(hex: "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa")),
    ]

    @Test(
        "Row 31: 32 bytes that are no point, or one with which anybody signs, are no Ed25519 key", arguments: badEd25519
    )
    func badEdwardsPoint(name: String, bytes: [UInt8]) {
        #expect(throws: CryptographyError.self) { try VerificationKey.ed25519(bytes) }
    }

    /// RFC 8032, 7.1, and the base point.
    @Test(
        "Ed25519 keys in use are points",
        arguments: [
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
            "5866666666666666666666666666666666666666666666666666666666666666",
        ])
    func edwardsPoint(hex: String) throws {
        _ = try VerificationKey.ed25519(bytes(hex: hex))
    }

    @Test("A key is made for the algorithms of its type only")
    func types() {
        for algorithm in SignatureAlgorithm.allCases {
            let (rsa, secret) = (algorithm.keyType == .rsa, algorithm.keyType == .secret)
            #expect(isKey { try .rsa(modulus: Vectors.modulus, exponent: [1, 0, 1], algorithm: algorithm) } == rsa)
            #expect(isKey { try .shared(Secret(Vectors.secret), algorithm: algorithm) } == secret)
            let p256 = isKey { try .ellipticCurve(.p256, x: Vectors.x256, y: Vectors.y256, algorithm: algorithm) }
            #expect(p256 == (algorithm == .es256))
            let p384 = isKey { try .ellipticCurve(.p384, x: Vectors.x384, y: Vectors.y384, algorithm: algorithm) }
            #expect(p384 == (algorithm == .es384))
            let p521 = isKey { try .ellipticCurve(.p521, x: Vectors.x521, y: Vectors.y521, algorithm: algorithm) }
            #expect(p521 == (algorithm == .es512))
        }
    }

    private func isKey(_ make: () throws -> VerificationKey) -> Bool { (try? make()) != nil }

    @Test(
        "A secret is as long as its digest at least",
        arguments: [(.hs256, 32), (.hs384, 48), (.hs512, 64)] as [(SignatureAlgorithm, Int)])
    func secrets(algorithm: SignatureAlgorithm, least: Int) {
        #expect(isKey { try .shared(Secret([UInt8](repeating: 1, count: least)), algorithm: algorithm) })
        #expect(!isKey { try .shared(Secret([UInt8](repeating: 1, count: least - 1)), algorithm: algorithm) })
        #expect(!isKey { try .shared(Secret([]), algorithm: algorithm) })
    }

    @Test("Keys are the same where material and algorithm are")
    func sameness() throws {
        for algorithm in SignatureAlgorithm.allCases {
            let key = try AlgorithmTests.key(algorithm)
            for other in SignatureAlgorithm.allCases {
                #expect(key.isSameKey(as: try AlgorithmTests.key(other)) == (algorithm == other))
            }
        }
        let longer = try VerificationKey.shared(Secret(Vectors.secret + [1]), algorithm: .hs256)
        #expect(!longer.isSameKey(as: try AlgorithmTests.key(.hs256)))
    }

    @Test("Keys of every algorithm verify on many threads at once")
    func concurrency() async throws {
        let keys = try SignatureAlgorithm.allCases.map(AlgorithmTests.key)
        let signatures = Dictionary(uniqueKeysWithValues: AlgorithmTests.signatures)
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<20).reduce(0) { wrong, _ in
                        wrong
                            + keys.count {
                                !$0.verify(
                                    signature: signatures[$0.algorithm] ?? [], of: Vectors.message,
                                    algorithm: $0.algorithm)
                            }
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
