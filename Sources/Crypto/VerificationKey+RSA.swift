internal import COpenSSL

extension VerificationKey {
    /// Smaller moduli can be factored (RFC 7518, 3.3 and 3.5 demand 2048).
    static let minimumModulusBits = 2048
    /// Larger moduli only make verification slow; OpenSSL itself refuses more.
    static let maximumModulusBits = 16384

    /// The RSA key with this modulus and public exponent, both unsigned big endian.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for fewer than 2048 bits, an even modulus or exponent, an
    ///   exponent below 65537, or an algorithm that isn't RSA's.
    package static func rsa(
        modulus: [UInt8], exponent: [UInt8], algorithm: SignatureAlgorithm = .rs256
    ) throws(CryptographyError) -> VerificationKey {
        guard algorithm.keyType == .rsa else { throw .unacceptableKey("\(algorithm.rawValue) is not for RSA keys") }
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        try requireAcceptable(modulus: modulus, exponent: exponent)
        return try VerificationKey(owning: importRSA(modulus: modulus, exponent: exponent), algorithm: algorithm)
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
