internal import Cryptography
internal import Encoding

extension LocalPoolConfiguration.Apple.RegisteredKey {
    /// Reads a PEM text: a private key as Apple issues it (`AuthKey_….p8`), whose public half is used, or a public key.
    /// Nil for anything else.
    init?(id: String, pem: Secret) {
        guard let key = (try? P256SigningKey(pem: pem).verificationKey()) ?? Self.publicKey(pem.exposeText()) else {
            return nil
        }
        self.init(id: id, key: key)
    }

    /// The bytes before the point in every SubjectPublicKeyInfo on P-256 (RFC 5480, 2): the two algorithm identifiers,
    /// the header of the bit string and the marker of an uncompressed point.
    private static let prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE,
        0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]

    private static func publicKey(_ pem: String) -> VerificationKey? {
        let lines = pem.split(whereSeparator: \.isNewline)
        guard lines.first == "-----BEGIN PUBLIC KEY-----", lines.last == "-----END PUBLIC KEY-----",
            let bytes = Base64.decode(lines.dropFirst().dropLast().joined().utf8),
            bytes.count == prefix.count + 64, bytes.starts(with: prefix)
        else { return nil }
        let point = bytes.dropFirst(prefix.count)
        return try? .ellipticCurve(
            .p256, x: Array(point.prefix(32)), y: Array(point.suffix(32)), algorithm: .es256)
    }
}
