internal import COpenSSL

/// An RSA private key that signs as RS256 (RSASSA-PKCS1-v1_5 with SHA-256).
///
/// `@unchecked Sendable`: the key is only read after `init`, and OpenSSL locks what it caches inside it.
package final class RSASigningKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// The modulus, unsigned big endian without leading zeros.
    package let modulus: [UInt8]
    /// The public exponent, unsigned big endian without leading zeros.
    package let exponent: [UInt8]

    /// Takes ownership of `key`, even if it throws.
    private init(owning key: OpaquePointer) throws(CryptographyError) {
        guard EVP_PKEY_is_a(key, "RSA") == 1, EVP_PKEY_get_bits(key) >= VerificationKey.minimumModulusBits,
            let modulus = Self.number(OSSL_PKEY_PARAM_RSA_N, of: key),
            let exponent = Self.number(OSSL_PKEY_PARAM_RSA_E, of: key)
        else {
            EVP_PKEY_free(key)
            clearErrors()
            throw .unacceptableKey("not an RSA key of at least 2048 bits")
        }
        self.key = key
        self.modulus = modulus
        self.exponent = exponent
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// A new key with a modulus of `bits` bits and the exponent 65537.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for fewer than 2048 or more than 16384 bits.
    package static func generate(bits: Int) throws(CryptographyError) -> RSASigningKey {
        guard (VerificationKey.minimumModulusBits...VerificationKey.maximumModulusBits).contains(bits) else {
            throw .unacceptableKey("RSA keys are made with 2048 to 16384 bits")
        }
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
            EVP_PKEY_generate(context, &key) == 1,
            let key
        else { throw failure("RSA key generation") }
        return try RSASigningKey(owning: key)
    }

    /// The key in an unencrypted PEM text, PKCS#8 or PKCS#1.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` when there is none, or it isn't RSA of at least 2048 bits.
    package convenience init(pem: Secret) throws(CryptographyError) {
        try self.init(owning: PrivateKeyPEM.read(pem))
    }

    /// The key as unencrypted PKCS#8 in PEM.
    package func privateKeyPEM() throws(CryptographyError) -> Secret {
        try PrivateKeyPEM.write(key)
    }

    /// The RS256 signature of `message`, as long as the modulus.
    package func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, MessageDigest.sha256.handle, nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1,
            count == signature.count
        else { throw failure("RSA signing") }
        return signature
    }

    /// The key that verifies this key's signatures.
    package func verificationKey() throws(CryptographyError) -> VerificationKey {
        try .rsa(modulus: modulus, exponent: exponent)
    }

    private static func number(_ name: String, of key: OpaquePointer) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { return nil }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(number)) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}
