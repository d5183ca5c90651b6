internal import COpenSSL
internal import Cryptography

/// OpenSSL's own verification of a signature and nothing around it: the measure of what a token costs besides.
///
/// Key, digest and context are prepared; the context is copied into one that is there already, which is the cheapest of
/// the ways to begin again that OpenSSL documents.
final class BareVerification {
    private let key: OpaquePointer
    private let prepared: OpaquePointer
    private let context: OpaquePointer

    convenience init?(modulus: [UInt8], exponent: [UInt8]) {
        guard let key = Self.key(modulus: modulus, exponent: exponent) else { return nil }
        self.init(owning: key, hashes: true)
    }

    /// - Parameter hashes: whether the signature is over the message's SHA-256; Ed25519 has a digest of its own.
    init?(owning key: OpaquePointer, hashes: Bool) {
        let digest = hashes ? EVP_MD_fetch(nil, "SHA256", nil) : nil
        defer { EVP_MD_free(digest) }
        guard let prepared = EVP_MD_CTX_new(), let context = EVP_MD_CTX_new(),
            EVP_DigestVerifyInit(prepared, nil, digest, nil, key) == 1
        else { return nil }
        self.key = key
        self.prepared = prepared
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_CTX_free(prepared)
        EVP_PKEY_free(key)
    }

    func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        EVP_MD_CTX_copy_ex(context, prepared) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// With the private key, where there is one.
    func sign(_ message: [UInt8]) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, EVP_MD_CTX_get0_md(prepared), nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw CryptographyError.failed("signing for the benchmark") }
        return Array(signature.prefix(count))
    }

    private static func key(modulus: [UInt8], exponent: [UInt8]) -> OpaquePointer? {
        let builder = OSSL_PARAM_BLD_new()
        let n = BN_bin2bn(modulus, Int32(modulus.count), nil)
        let e = BN_bin2bn(exponent, Int32(exponent.count), nil)
        defer {
            OSSL_PARAM_BLD_free(builder)
            BN_free(n)
            BN_free(e)
        }
        guard gatehouse_push_rsa_public(builder, n, e) == 1 else { return nil }
        let parameters = OSSL_PARAM_BLD_to_param(builder)
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer {
            OSSL_PARAM_free(parameters)
            EVP_PKEY_CTX_free(context)
        }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1 else { return nil }
        _ = EVP_PKEY_fromdata(context, &key, gatehouse_public_key_selection(), parameters)
        return key
    }
}
