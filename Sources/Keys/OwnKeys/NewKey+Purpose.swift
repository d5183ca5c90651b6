internal import Cryptography
internal import Encoding
package import Pipeline
internal import Sealing
internal import Store

extension NewKey {
    /// Creates a key. The ID of a signing key is its thumbprint; the ID of a sealing key also derives from the key.
    static func make(for purpose: KeyPurpose) throws -> NewKey {
        switch purpose {
        case .assertion, .session:
            let key = try P256SigningKey.generate()
            return NewKey(id: key.thumbprint, material: try key.privateKeyPEM())
        case .sealing, .audit, .limits:
            return try sealing(Secret(SecureRandom.bytes(AESGCMKey.keyByteCount)))
        }
    }

    static func sealing(_ secret: Secret) throws -> NewKey {
        NewKey(id: try SealingKey(secret).id, material: secret)
    }

    /// - Parameter audit: the key of the audit log; nil if there is none yet.
    static func limits(from audit: Secret?) throws -> NewKey {
        guard let audit else { return try make(for: .limits) }
        return try sealing(Secret(HMACSHA256.authenticationCode(for: Array("limits".utf8), key: audit.expose())))
    }
}

extension StoredKey {
    /// The signing key. Its ID must be its thumbprint, so that no edited file publishes a key under another key's ID.
    package func signingKey() throws -> AssertionKey {
        let key = AssertionKey(try P256SigningKey(pem: material))
        guard key.id.hasSameBytes(as: id) else { throw CryptographyError.unacceptableKey("its id is another key's") }
        return key
    }

    func sealingKey() throws -> SealingKey { try SealingKey(id: id, material) }
}
