internal import COpenSSL

/// Why OpenSSL takes a certificate for untrustworthy.
package enum CertificateError {
    /// OpenSSL's words, which name no certificate (X509_verify_cert_error_string(3)).
    ///
    /// - Parameter result: of SSL_get_verify_result(3).
    /// - Returns: nil where the chain is good, or nobody has said what is wrong with it.
    package static func words(_ result: Int) -> String? {
        guard result != X509_V_OK, result != X509_V_ERR_UNSPECIFIED else { return nil }
        return unsafe X509_verify_cert_error_string(result).map { unsafe String(cString: $0) }
    }
}
