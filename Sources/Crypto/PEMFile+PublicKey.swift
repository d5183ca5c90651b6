internal import COpenSSL

extension PEMFile {
    /// The SHA-256 of the first certificate's SubjectPublicKeyInfo, which pins servers (RFC 7469, 2.4).
    ///
    /// - Returns: nil if the text has no certificate, or a malformed one.
    package static func publicKeyHash(in pem: [UInt8]) -> [UInt8]? {
        let certificate = reading(pem) { gatehouse_read_certificate($0) }
        defer {
            X509_free(certificate)
            clearErrors()
        }
        guard let certificate else { return nil }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        defer { gatehouse_free(encoded) }
        guard count > 0, let encoded else { return nil }
        return SHA256.hash(Array(UnsafeBufferPointer(start: encoded, count: Int(count))))
    }
}
