internal import COpenSSL
internal import Encoding
internal import Glibc

/// The first certificate of a PEM chain: its validity period and its name. It is valid no longer than the whole chain.
package struct ServerCertificate: Sendable, Equatable {
    /// Seconds since 1970.
    package let notBefore: Int64
    /// Seconds since 1970; the earliest end of all certificates of the chain.
    package let notAfter: Int64
    /// The number of certificates in the chain.
    package let chainLength: Int
    /// Whether the certificate is for the requested name.
    package let isForName: Bool

    /// - Parameters:
    ///   - chain: PEM; everything but certificates is ignored.
    ///   - name: a host name in ASCII, which itself must be among the certificate's alternative names: neither a
    ///     wildcard nor the subject's common name is enough.
    /// - Returns: nil if the text has no certificate, or a malformed one.
    package init?(chain: [UInt8], for name: String) {
        guard let count = PEMFile.certificates(in: chain), count > 0 else { return nil }
        let ends = PEMFile.reading(chain) { bio in
            var ends: [Int64] = []
            while let certificate = gatehouse_read_certificate(bio) {
                ends.append(Self.seconds(X509_get0_notAfter(certificate)) ?? .min)
                X509_free(certificate)
            }
            return ends
        }
        let certificate = PEMFile.reading(chain) { gatehouse_read_certificate($0) }
        defer { X509_free(certificate) }
        guard let certificate, let begin = Self.seconds(X509_get0_notBefore(certificate)), let end = ends.min() else {
            return nil
        }
        (notBefore, notAfter, chainLength) = (begin, end, count)
        // RFC 9525, 2: clients check alternative names only.
        let flags = UInt32(X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        isForName = X509_check_host(certificate, name, name.utf8.count, flags, nil) == 1
        clearErrors()
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }
}
