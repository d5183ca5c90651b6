internal import COpenSSL

extension VerificationKey {
    /// The ECDSA key with this point, whose coordinates are big endian and as long as the curve's (RFC 7518, 6.2.1.2).
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for another length, a point that isn't on the curve, or an
    ///   algorithm that isn't for keys of this curve.
    package static func ellipticCurve(
        _ curve: EllipticCurve, x: [UInt8], y: [UInt8], algorithm: SignatureAlgorithm
    ) throws(CryptographyError) -> VerificationKey {
        guard algorithm.keyType == .ellipticCurve(curve) else {
            throw .unacceptableKey("\(algorithm.rawValue) is not for keys of \(curve.rawValue)")
        }
        guard x.count == curve.byteCount, y.count == curve.byteCount else {
            throw .unacceptableKey("coordinate is not \(curve.byteCount) bytes")
        }
        guard let key = importPoint([0x04] + x + y, on: curve) else {
            clearErrors()
            throw .unacceptableKey("point is not on \(curve.rawValue)")
        }
        return try VerificationKey(owning: key, algorithm: algorithm)
    }

    /// The Ed25519 key of these 32 bytes (RFC 8032, 5.1.5).
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for bytes that are not a point, or a point for which anybody
    ///   can sign.
    package static func ed25519(_ bytes: [UInt8]) throws(CryptographyError) -> VerificationKey {
        try Ed25519Point.requireAcceptable(bytes)
        guard let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count) else {
            throw failure("Ed25519 key import")
        }
        return try VerificationKey(owning: key, algorithm: .edDSA)
    }

    /// Nil unless the point is on the curve.
    private static func importPoint(_ point: [UInt8], on curve: EllipticCurve) -> OpaquePointer? {
        let group =
            switch curve {
            case .p256: gatehouse_group_p256()
            case .p384: gatehouse_group_p384()
            case .p521: gatehouse_group_p521()
            }
        let builder = OSSL_PARAM_BLD_new()
        defer { OSSL_PARAM_BLD_free(builder) }
        var key: OpaquePointer?
        // The builder reads the point when it makes the parameters.
        point.withUnsafeBufferPointer { point in
            guard gatehouse_push_ec_public(builder, group, point.baseAddress, point.count) == 1 else { return }
            let parameters = OSSL_PARAM_BLD_to_param(builder)
            let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
            defer {
                OSSL_PARAM_free(parameters)
                EVP_PKEY_CTX_free(context)
            }
            guard EVP_PKEY_fromdata_init(context) == 1 else { return }
            _ = EVP_PKEY_fromdata(context, &key, gatehouse_public_key_selection(), parameters)
        }
        guard let key else { return nil }
        let check = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { EVP_PKEY_CTX_free(check) }
        // On the curve, within the field, not at infinity (SP 800-56A, 5.6.2.3.3).
        guard EVP_PKEY_public_check(check) == 1 else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }
}
