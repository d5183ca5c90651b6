internal import COpenSSL

/// A P-256 private key that signs as ES256 (ECDSA with SHA-256; RFC 7518, 3.4).
///
/// `@unchecked Sendable`: the key is only read after `init`, and OpenSSL locks what it caches inside it.
package final class P256SigningKey: @unchecked Sendable {
    let key: OpaquePointer
    /// The public point's coordinates, big endian, 32 bytes each.
    package let x: [UInt8]
    package let y: [UInt8]

    /// Takes ownership of `key`, even if it throws.
    private init(owning key: OpaquePointer) throws(CryptographyError) {
        guard EVP_PKEY_is_a(key, "EC") == 1, Self.isOnP256(key), let point = Self.point(of: key) else {
            EVP_PKEY_free(key)
            clearErrors()
            throw .unacceptableKey("not an EC key on P-256")
        }
        self.key = key
        self.x = Array(point[1...32])
        self.y = Array(point[33...])
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// A new key.
    package static func generate() throws(CryptographyError) -> P256SigningKey {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, gatehouse_group_p256()) == 1,
            EVP_PKEY_generate(context, &key) == 1,
            let key
        else { throw failure("P-256 key generation") }
        return try P256SigningKey(owning: key)
    }

    /// The key in an unencrypted PEM text, PKCS#8 or SEC 1.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` when there is none, or it isn't on P-256.
    package convenience init(pem: Secret) throws(CryptographyError) {
        try self.init(owning: PrivateKeyPEM.read(pem))
    }

    /// The key as unencrypted PKCS#8 in PEM.
    package func privateKeyPEM() throws(CryptographyError) -> Secret {
        try PrivateKeyPEM.write(key)
    }

    /// The ES256 signature of `message`: r and s, 32 bytes each.
    package func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        // OpenSSL returns DER, whose length varies; this is the maximum.
        var encoded = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = encoded.count
        guard EVP_DigestSignInit(context, nil, MessageDigest.sha256.handle, nil, key) == 1,
            EVP_DigestSign(context, &encoded, &count, message, message.count) == 1,
            count <= encoded.count,
            let signature = ECDSASignature.raw(encoded: encoded[..<count], curve: .p256)
        else { throw failure("ES256 signing") }
        return signature
    }

    /// The key that verifies this key's signatures.
    package func verificationKey() throws(CryptographyError) -> VerificationKey {
        try .ellipticCurve(.p256, x: x, y: y, algorithm: .es256)
    }

    /// Compares OpenSSL's own name of the curve, because other curves also have 256 bits.
    private static func isOnP256(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return false }
        return name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
    }

    /// The public point, uncompressed: 04, x, y (SEC 1, 2.3.3). Nil for one that has another length.
    private static func point(of key: OpaquePointer) -> [UInt8]? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(key, &encoded)
        defer { gatehouse_free(encoded) }
        guard count == 65, let encoded, encoded[0] == 0x04 else { return nil }
        return Array(UnsafeBufferPointer(start: encoded, count: count))
    }
}
