internal import COpenSSL
internal import Encoding

extension P256SigningKey {
    /// A request for a certificate of this key for one DNS name, in DER (PKCS #10, RFC 2986). The name is a subject
    /// alternative name, and the subject is empty: the signer of the request decides on both.
    ///
    /// - Parameter name: a host name in ASCII.
    package func certificateRequest(for name: String) throws(CryptographyError) -> [UInt8] {
        clearErrors()
        let request = X509_REQ_new()
        defer { X509_REQ_free(request) }
        guard let request, X509_REQ_set_version(request, 0) == 1, X509_REQ_set_pubkey(request, key) == 1,
            gatehouse_set_request_name(request, name) == 1,
            X509_REQ_sign(request, key, MessageDigest.sha256.handle) > 0
        else { throw failure("certificate request") }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_REQ(request, &encoded)
        defer { gatehouse_free(encoded) }
        guard count > 0, let encoded else { throw failure("certificate request") }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
    }

    /// The certificate that answers a TLS-ALPN-01 challenge, in PEM (RFC 8737, 3): self-signed, for one DNS name, with
    /// the digest of the key authorization in the critical extension id-pe-acmeIdentifier.
    ///
    /// - Parameters:
    ///   - name: a host name in ASCII.
    ///   - digest: SHA-256 of the key authorization.
    package func challengeCertificate(for name: String, digest: [UInt8]) throws(CryptographyError) -> [UInt8] {
        clearErrors()
        let certificate = X509_new()
        defer { X509_free(certificate) }
        guard let certificate, X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), 1) == 1,
            // Nobody checks the times, but a certificate must have them.
            X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), 7 * 86_400) != nil,
            X509_set_pubkey(certificate, key) == 1,
            gatehouse_set_certificate_name(certificate, name) == 1,
            gatehouse_add_critical_octets(certificate, Self.acmeIdentifier, digest, Int32(digest.count)) == 1,
            X509_sign(certificate, key, MessageDigest.sha256.handle) > 0
        else { throw failure("challenge certificate") }
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        var contents: UnsafeMutablePointer<CChar>?
        guard gatehouse_write_certificate(bio, certificate) == 1 else { throw failure("PEM writing") }
        let count = gatehouse_bio_contents(bio, &contents)
        guard count > 0, let contents else { throw failure("PEM writing") }
        return UnsafeRawBufferPointer(start: contents, count: count).map { $0 }
    }

    /// id-pe-acmeIdentifier (RFC 8737, 6.1).
    private static let acmeIdentifier = "1.3.6.1.5.5.7.1.31"
}
