internal import COpenSSL
internal import Cryptography

/// OpenSSL's own verification of an RSA signature and nothing around it: the measure of what a token costs besides.
///
/// Key, digest and context are prepared; the context is copied into one that is there already, which is the cheapest of
/// the ways to begin again that OpenSSL documents.
final class BareVerification {
    private let key: OpaquePointer
    private let prepared: OpaquePointer
    private let context: OpaquePointer

    init?(modulus: [UInt8], exponent: [UInt8]) {
        let digest = EVP_MD_fetch(nil, "SHA256", nil)
        defer { EVP_MD_free(digest) }
        guard let key = Self.key(modulus: modulus, exponent: exponent) else { return nil }
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
