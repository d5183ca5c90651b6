internal import COpenSSL

/// The reason that OpenSSL does not trust a certificate.
package enum CertificateError {
    /// OpenSSL's description, which names no certificate (X509_verify_cert_error_string(3)).
    ///
    /// - Parameter result: the result of SSL_get_verify_result(3).
    /// - Returns: nil if the chain is valid, or the reason is unspecified.
    package static func words(_ result: Int) -> String? {
        guard result != X509_V_OK, result != X509_V_ERR_UNSPECIFIED else { return nil }
        return unsafe X509_verify_cert_error_string(result).map { unsafe String(cString: $0) }
    }
}
