internal import Cryptography

/// The public key of a passkey: a COSE_Key (RFC 9052, 7) with one of three algorithms.
struct CredentialKey {
    /// The COSE identifiers of the algorithms, preferred first: ES256, EdDSA and RS256 (RFC 9053, RFC 8812).
    static let algorithms: [Int64] = [-7, -8, -257]

    private let key: VerificationKey

    /// - Throws: an error if the key is malformed or of another kind.
    init(_ encoded: [UInt8]) throws {
        let object = try CBORReader.value(of: encoded)
        func bytes(_ label: Int64) throws(InvalidCBOR) -> [UInt8] {
            guard let bytes = object[.integer(label)]?.bytesValue else { throw InvalidCBOR() }
            return bytes
        }
        let (kind, curve) = (object[.integer(1)], object[.integer(-1)])
        switch object[.integer(3)] {
        case .integer(-7) where kind == .unsigned(2) && curve == .unsigned(1):
            key = try .ellipticCurve(.p256, x: bytes(-2), y: bytes(-3), algorithm: .es256)
        case .integer(-8) where kind == .unsigned(1) && curve == .unsigned(6):
            key = try .ed25519(bytes(-2))
        case .integer(-257) where kind == .unsigned(3):
            key = try .rsa(modulus: bytes(-1), exponent: bytes(-2), algorithm: .rs256)
        default: throw InvalidCBOR()
        }
    }

    /// The COSE identifier of the key's algorithm.
    var algorithm: Int64 {
        switch key.algorithm {
        case .es256: -7
        case .edDSA: -8
        default: -257
        }
    }

    /// Whether `signature` (DER for ECDSA) is valid for `message`.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        key.verify(encodedSignature: signature, of: message)
    }
}
