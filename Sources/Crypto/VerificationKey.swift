internal import COpenSSL

/// A key that verifies signatures: a public key, or a secret shared with the issuer.
///
/// `@unchecked Sendable`: the key and the prepared context are only read after `init`, and OpenSSL counts their
/// references atomically.
package final class VerificationKey: @unchecked Sendable {
    private enum Material {
        /// - Parameter prepared: a verification already set up for this key. Copying it costs 2 µs less than setting up
        ///   a fresh one. Nil for Ed25519, whose contexts OpenSSL 3.0 does not copy.
        case publicKey(OpaquePointer, prepared: OpaquePointer?)
        case secret(Secret)
    }

    /// The one algorithm this key may be used with.
    package let algorithm: SignatureAlgorithm
    private let material: Material
    private let signatureByteCount: Int
    /// A SHA-256 of the public key and its algorithm, equal for equal keys whatever their IDs. Nil for a secret.
    package let fingerprint: [UInt8]?

    /// Takes ownership of `key`, even if it throws.
    init(owning key: OpaquePointer, algorithm: SignatureAlgorithm) throws(CryptographyError) {
        guard let context = Self.context(for: key, algorithm) else {
            EVP_PKEY_free(key)
            throw failure("verification context")
        }
        let isCopied = algorithm.keyType != .ed25519
        if !isCopied { EVP_MD_CTX_free(context) }
        self.material = .publicKey(key, prepared: isCopied ? context : nil)
        self.algorithm = algorithm
        self.fingerprint = Self.fingerprint(of: key, algorithm)
        self.signatureByteCount =
            switch algorithm.keyType {
            case .rsa: Int(EVP_PKEY_get_size(key))
            case .ellipticCurve(let curve): 2 * curve.byteCount
            case .ed25519, .secret: 64
            }
    }

    private init(secret: Secret, algorithm: SignatureAlgorithm) {
        self.material = .secret(secret)
        self.algorithm = algorithm
        self.fingerprint = nil
        self.signatureByteCount = algorithm.codeByteCount
    }

    deinit {
        guard case .publicKey(let key, let prepared) = material else { return }
        EVP_MD_CTX_free(prepared)
        EVP_PKEY_free(key)
    }

    /// The key of an HMAC with a configured secret.
    ///
    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` for a secret shorter than the digest, which is 256 bits at
    ///   least (RFC 7518, 3.2), and for an algorithm that isn't HMAC.
    package static func shared(
        _ secret: Secret, algorithm: SignatureAlgorithm
    ) throws(CryptographyError) -> VerificationKey {
        guard algorithm.keyType == .secret else { throw .unacceptableKey("a secret is for HMAC only") }
        guard secret.expose().count >= algorithm.codeByteCount else {
            throw .unacceptableKey("secret below \(algorithm.codeByteCount * 8) bits")
        }
        return VerificationKey(secret: secret, algorithm: algorithm)
    }

    /// Whether `signature` is this key's signature of `message`. False in every other case, including errors.
    package func verify(signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        verify(signature: signature, of: message.span, algorithm: algorithm)
    }

    /// As ``verify(signature:of:algorithm:)``, without copying the message.
    package func verify(
        signature: [UInt8], of message: borrowing Span<UInt8>, algorithm: SignatureAlgorithm
    ) -> Bool {
        // Only one length is valid: RFC 8017, 8.1.2 and 8.2.2 step 1; RFC 7518, 3.4; RFC 8032, 5.1.7.
        guard algorithm == self.algorithm, signature.count == signatureByteCount else { return false }
        switch (material, algorithm.keyType) {
        case (.secret(let secret), _):
            return constantTimeEquals(signature, Self.code(of: message, secret, algorithm))
        case (.publicKey(let key, let prepared), .ellipticCurve(let curve)):
            guard let signature = ECDSASignature(raw: signature, curve: curve) else { return false }
            return check(signature.encoded, message, key, prepared)
        case (.publicKey(let key, let prepared), _):
            return check(signature, message, key, prepared)
        }
    }

    /// Whether `other` is the same key for the same algorithm, whatever their IDs.
    package func isSameKey(as other: VerificationKey) -> Bool {
        guard self !== other else { return true }
        guard algorithm == other.algorithm else { return false }
        switch (material, other.material) {
        case (.publicKey(let key, _), .publicKey(let otherKey, _)):
            defer { clearErrors() }
            return EVP_PKEY_eq(key, otherKey) == 1
        case (.secret(let secret), .secret(let otherSecret)): return secret == otherSecret
        default: return false
        }
    }

    /// The hash of the key's SubjectPublicKeyInfo (RFC 5280, 4.1); nil if OpenSSL cannot encode it.
    private static func fingerprint(of key: OpaquePointer, _ algorithm: SignatureAlgorithm) -> [UInt8]? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &encoded)
        defer {
            gatehouse_free(encoded)
            clearErrors()
        }
        guard count > 0, let encoded else { return nil }
        return SHA256.hash(
            Array(algorithm.rawValue.utf8) + [0] + UnsafeBufferPointer(start: encoded, count: Int(count)))
    }

    private func check(
        _ signature: [UInt8], _ message: borrowing Span<UInt8>, _ key: OpaquePointer, _ prepared: OpaquePointer?
    ) -> Bool {
        guard let context = Self.copy(of: prepared) ?? Self.context(for: key, algorithm) else {
            clearErrors()
            return false
        }
        defer { EVP_MD_CTX_free(context) }
        let result = message.withUnsafeBufferPointer {
            EVP_DigestVerify(context, signature, signature.count, $0.baseAddress, $0.count)
        }
        guard result == 1 else {
            clearErrors()
            return false
        }
        return true
    }

    private static func copy(of prepared: OpaquePointer?) -> OpaquePointer? {
        guard let prepared, let context = EVP_MD_CTX_new() else { return nil }
        guard EVP_MD_CTX_copy_ex(context, prepared) == 1 else {
            EVP_MD_CTX_free(context)
            return nil
        }
        return context
    }

    /// A verification that is set up for this key; nil on failure, with OpenSSL's error queue left as it is.
    private static func context(for key: OpaquePointer, _ algorithm: SignatureAlgorithm) -> OpaquePointer? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        let digest = algorithm.digest?.handle
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, digest, nil, key) == 1,
            !algorithm.isPSS || gatehouse_set_pss(parameters, digest) == 1
        else {
            EVP_MD_CTX_free(context)
            return nil
        }
        return context
    }

    private static func code(
        of message: borrowing Span<UInt8>, _ secret: Secret, _ algorithm: SignatureAlgorithm
    ) -> [UInt8] {
        let key = secret.expose()
        var code = [UInt8](repeating: 0, count: algorithm.codeByteCount)
        let result = message.withUnsafeBufferPointer {
            HMAC(algorithm.digest?.handle, key, Int32(key.count), $0.baseAddress, $0.count, &code, nil)
        }
        // As for SHA-256: no substitute would be safe to return.
        precondition(result != nil, "HMAC is not available")
        return code
    }
}
