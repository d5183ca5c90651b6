/// The signature algorithms that can be configured, by their JWS names (RFC 7518, 3.1; RFC 8037, 3.1). `none` is not
/// one.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 (RFC 7518, 3.3).
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    /// RSASSA-PSS with MGF1 of the same digest and a salt as long as the digest (RFC 7518, 3.5).
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    /// ECDSA on P-256, P-384 and P-521 (RFC 7518, 3.4).
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519 (RFC 8037, 3.1).
    case edDSA = "EdDSA"
    /// HMAC with a configured secret (RFC 7518, 3.2). Keys of a fetched set are never used with these.
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    /// The kind of key that an algorithm is used with. No key serves two kinds.
    package enum KeyType: Sendable, Hashable {
        case rsa
        case ellipticCurve(EllipticCurve)
        case ed25519
        case secret
    }

    package var keyType: KeyType {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256: .ellipticCurve(.p256)
        case .es384: .ellipticCurve(.p384)
        case .es512: .ellipticCurve(.p521)
        case .edDSA: .ed25519
        case .hs256, .hs384, .hs512: .secret
        }
    }

    var isPSS: Bool {
        switch self {
        case .ps256, .ps384, .ps512: true
        default: false
        }
    }

    /// Nil for Ed25519, which includes its own hash.
    var digest: MessageDigest? {
        switch self {
        case .rs256, .ps256, .es256, .hs256: .sha256
        case .rs384, .ps384, .es384, .hs384: .sha384
        case .rs512, .ps512, .es512, .hs512: .sha512
        case .edDSA: nil
        }
    }

    /// The digest's length for HMAC; 0 for all others.
    var codeByteCount: Int {
        switch self {
        case .hs256: 32
        case .hs384: 48
        case .hs512: 64
        default: 0
        }
    }
}
