internal import COpenSSL

/// Private keys as unencrypted PEM.
enum PrivateKeyPEM {
    /// The first private key in `pem`, PKCS#8 or the traditional format of its type. The caller must free it.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` when there is none.
    static func read(_ pem: Secret) throws(CryptographyError) -> OpaquePointer {
        guard let key = PEMFile.reading(pem.expose(), { gatehouse_read_private_key($0) }) else {
            throw .unacceptableKey("no unencrypted PEM private key")
        }
        return key
    }

    /// `key` as PKCS#8.
    static func write(_ key: OpaquePointer) throws(CryptographyError) -> Secret {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        var contents: UnsafeMutablePointer<CChar>?
        guard gatehouse_write_private_key(bio, key) == 1 else { throw failure("PEM writing") }
        let count = gatehouse_bio_contents(bio, &contents)
        guard count > 0, let contents else { throw failure("PEM writing") }
        return Secret(UnsafeRawBufferPointer(start: contents, count: count).map { $0 })
    }
}
