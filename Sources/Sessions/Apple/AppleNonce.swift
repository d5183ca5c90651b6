internal import Cryptography
internal import Pipeline
internal import Sealing

/// A nonce that the gateway issues for one sign-in. Its expiry is sealed into it, so nothing is stored before it is
/// used, and a flood of requests cannot fill the store. The store ensures single use.
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

    /// Opens the output of ``sealed(with:issuer:)``.
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

    /// The key under which the store records a used nonce.
    var digest: [UInt8] { SHA256.hash(Array("gatehouse nonce\0".utf8) + random) }
}
