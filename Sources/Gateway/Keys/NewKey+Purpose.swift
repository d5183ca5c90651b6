internal import Cryptography
internal import Encoding
internal import Pipeline
internal import SignIn

extension NewKey {
    /// Makes a key. It is called by what it is: a signing key by its thumbprint, a sealing key by a code of its own.
    static func make(for purpose: KeyPurpose) throws -> NewKey {
        switch purpose {
        case .assertion, .session:
            let key = try P256SigningKey.generate()
            return NewKey(id: key.thumbprint, material: try key.privateKeyPEM())
        case .sealing, .audit:
            return try sealing(Secret(SecureRandom.bytes(AESGCMKey.keyByteCount)))
        }
    }

    static func sealing(_ secret: Secret) throws -> NewKey {
        NewKey(id: try SealingKey(secret).id, material: secret)
    }
}

extension StoredKey {
    /// The key that signs. Its id must be its thumbprint, so that no edited file publishes a key by another's name.
    func signingKey() throws -> AssertionKey {
        let key = AssertionKey(try P256SigningKey(pem: material))
        guard key.id.hasSameBytes(as: id) else { throw CryptographyError.unacceptableKey("its id is another key's") }
        return key
    }

    func sealingKey() throws -> SealingKey { try SealingKey(id: id, material) }
}
