internal import CBoringSSL

/// A certificate chain and its private key.
///
/// `@unchecked Sendable`: BoringSSL counts references to both atomically, and neither changes.
package final class TLSServerIdentity: @unchecked Sendable {
    let chain: [OpaquePointer?]
    let key: OpaquePointer

    /// The private key could not be read.
    package struct MalformedKey: Error {}

    /// - Parameters:
    ///   - chain: in DER, the server's certificate first.
    ///   - key: in PEM, not encrypted.
    package init(chain: [[UInt8]], key pem: [UInt8]) throws(MalformedKey) {
        let read = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let input = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return nil }
            defer { BIO_free(input) }
            // An encrypted key gets an empty passphrase. By default, the terminal would be asked for one.
            return PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in 0 }, nil)
        }
        ERR_clear_error()
        guard let read else { throw MalformedKey() }
        key = read
        self.chain = chain.map { certificate in
            certificate.withUnsafeBufferPointer { CRYPTO_BUFFER_new($0.baseAddress, $0.count, nil) }
        }
    }

    deinit {
        for certificate in chain { CRYPTO_BUFFER_free(certificate) }
        EVP_PKEY_free(key)
    }
}
