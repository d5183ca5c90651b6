internal import COpenSSL

/// A public key that checks signatures.
///
/// `@unchecked Sendable`: the key and the prepared context are only read after `init`, and OpenSSL counts their
/// references atomically.
package final class VerificationKey: @unchecked Sendable {
    /// Smaller moduli can be factored (RFC 7518, 3.3 demands 2048).
    package static let minimumModulusBits = 2048
    /// Larger moduli only make verification slow; OpenSSL itself refuses more.
    package static let maximumModulusBits = 16384

    /// The one algorithm this key may be used with.
    package let algorithm: SignatureAlgorithm
    private let key: OpaquePointer
    /// A verification already set up for this key. Copying it costs 2 µs less than setting up a fresh one.
    private let prepared: OpaquePointer
    private let signatureByteCount: Int

    /// Takes over `key`, also when it throws.
    private init(owning key: OpaquePointer, algorithm: SignatureAlgorithm) throws(CryptographyError) {
        guard let prepared = EVP_MD_CTX_new() else {
            EVP_PKEY_free(key)
            throw failure("verification context")
        }
        guard EVP_DigestVerifyInit(prepared, nil, MessageDigest.sha256.handle, nil, key) == 1 else {
            EVP_MD_CTX_free(prepared)
            EVP_PKEY_free(key)
            throw failure("verification context")
        }
        self.key = key
        self.prepared = prepared
        self.algorithm = algorithm
        self.signatureByteCount = Int(EVP_PKEY_get_size(key))
    }

    deinit {
        EVP_MD_CTX_free(prepared)
        EVP_PKEY_free(key)
    }

    /// The RSA key with this modulus and public exponent, both unsigned big endian.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for fewer than 2048 bits, an even modulus or exponent, or an
    ///   exponent below 65537.
    package static func rsa(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) -> VerificationKey {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        try requireAcceptable(modulus: modulus, exponent: exponent)
        return try VerificationKey(owning: importRSA(modulus: modulus, exponent: exponent), algorithm: .rs256)
    }

    /// Whether `signature` is this key's over `message`. False for every other case, also for errors.
    package func verify(signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        // RFC 8017, 8.2.2 step 1: the signature is as long as the modulus.
        guard algorithm == self.algorithm, signature.count == signatureByteCount else { return false }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_MD_CTX_copy_ex(context, prepared) == 1,
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        else {
            clearErrors()
            return false
        }
        return true
    }

    /// Whether `other` is the same public key for the same algorithm, whatever names the two go by.
    package func isSameKey(as other: VerificationKey) -> Bool {
        guard self !== other else { return true }
        defer { clearErrors() }
        return algorithm == other.algorithm && EVP_PKEY_eq(key, other.key) == 1
    }

    private static func requireAcceptable(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard bits >= minimumModulusBits else { throw .unacceptableKey("RSA modulus below 2048 bits") }
        guard bits <= maximumModulusBits else { throw .unacceptableKey("RSA modulus above 16384 bits") }
        guard let lastOfModulus = modulus.last, lastOfModulus & 1 == 1 else {
            throw .unacceptableKey("RSA modulus is even")
        }
        // OpenSSL refuses exponents above 64 bits for large moduli; no key in use has one.
        guard let last = exponent.last, last & 1 == 1, exponent.count <= 8 else {
            throw .unacceptableKey("RSA exponent is even or too large")
        }
        guard exponent.reduce(UInt64(0), { $0 << 8 | UInt64($1) }) >= 65537 else {
            throw .unacceptableKey("RSA exponent below 65537")
        }
    }

    private static func importRSA(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) -> OpaquePointer {
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_bin2bn(exponent, Int32(exponent.count), nil)
        let builder = OSSL_PARAM_BLD_new()
        defer {
            OSSL_PARAM_BLD_free(builder)
            BN_free(n)
            BN_free(e)
        }
        guard gatehouse_push_rsa_public(builder, n, e) == 1 else { throw failure("RSA parameters") }
        let parameters = OSSL_PARAM_BLD_to_param(builder)
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer {
            OSSL_PARAM_free(parameters)
            EVP_PKEY_CTX_free(context)
        }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, gatehouse_public_key_selection(), parameters) == 1,
            let key
        else { throw failure("RSA key import") }
        return key
    }
}
