internal import Cryptography
internal import Pipeline
internal import Sealing

/// A nonce that the gateway gives out for one sign-in. It holds its own end, sealed: nothing is kept of it before it is
/// used, so that no flood of asking for them fills the store. That it is used once is the store's part.
struct AppleNonce: Sendable, Equatable {
    private static let randomCount = 16

    let expiresAt: Int64
    /// Random bytes that make it unique.
    let random: [UInt8]

    /// - Parameter random: 16 bytes from a cryptographic source.
    init(expiresAt: Int64, random: [UInt8]) {
        self.expiresAt = expiresAt
        self.random = random
    }

    /// Opens what ``sealed(with:issuer:)`` gave.
    init(opening text: Secret, with keys: SealingKeyRing, issuer: String) throws(InvalidSealedToken) {
        var reader = ByteReader(try SealedText.open(text, as: .nonce, with: keys, poolID: issuer))
        guard let expiresAt = reader.readInteger(), let random = reader.readField(), reader.isAtEnd,
            random.count == Self.randomCount
        else { throw InvalidSealedToken() }
        self.init(expiresAt: expiresAt, random: random)
    }

    func sealed(with keys: SealingKeyRing, issuer: String) throws(SealingFailure) -> Secret {
        var writer = ByteWriter()
        writer.write(integer: expiresAt)
        guard writer.write(field: random) else { throw SealingFailure() }
        return try SealedText.seal(writer.bytes, as: .nonce, with: keys, poolID: issuer)
    }

    /// The name under which the store records a used nonce.
    var digest: [UInt8] { SHA256.hash(Array("gatehouse nonce\0".utf8) + random) }
}
