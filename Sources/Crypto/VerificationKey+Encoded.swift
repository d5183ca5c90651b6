extension VerificationKey {
    /// Whether `signature` is this key's signature of `message`. An ECDSA signature is in DER (RFC 3279, 2.2.3), as in
    /// X.509 and WebAuthn. False in every other case.
    package func verify(encodedSignature signature: [UInt8], of message: [UInt8]) -> Bool {
        guard case .ellipticCurve(let curve) = algorithm.keyType else {
            return verify(signature: signature, of: message, algorithm: algorithm)
        }
        guard let raw = ECDSASignature.raw(encoded: signature[...], curve: curve) else { return false }
        return verify(signature: raw, of: message, algorithm: algorithm)
    }
}
