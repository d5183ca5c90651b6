internal import COpenSSL
internal import Encoding

/// The certificates and keys in PEM files for TLS, as OpenSSL reads them.
package enum PEMFile {
    /// The number of certificates; nil if one of them is malformed, or truncated as in a partly written file.
    package static func certificates(in pem: [UInt8]) -> Int? {
        reading(pem) { bio in
            var count = 0
            while let certificate = gatehouse_read_certificate(bio) {
                X509_free(certificate)
                count += 1
            }
            return gatehouse_was_no_pem() == 1 ? count : nil
        }
    }

    /// Whether a private key belongs to the first certificate; nil if the text is not a private key, or has a
    /// passphrase.
    package static func isKey(_ key: Secret, of chain: [UInt8]) -> Bool? {
        let key = reading(key.expose()) { gatehouse_read_private_key($0) }
        defer { EVP_PKEY_free(key) }
        guard let key else { return nil }
        let certificate = reading(chain) { gatehouse_read_certificate($0) }
        defer { X509_free(certificate) }
        let isOne = X509_check_private_key(certificate, key) == 1
        clearErrors()
        return isOne
    }

    static func reading<Value>(_ pem: [UInt8], _ read: (OpaquePointer?) -> Value) -> Value {
        clearErrors()
        defer { clearErrors() }
        return pem.withUnsafeBytes { bytes in
            // The BIO reads the bytes where they are, so it lives no longer than this closure.
            let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { BIO_free(bio) }
            return read(bio)
        }
    }
}
