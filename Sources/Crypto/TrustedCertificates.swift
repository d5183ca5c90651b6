internal import COpenSSL

/// Certificates that other servers are verified against, parsed once and shared by any number of connections
/// (X509_STORE_new(3)).
///
/// OpenSSL guards the store with a lock of its own, and nothing is added after it is made: hence `@unchecked Sendable`.
package final class TrustedCertificates: @unchecked Sendable, Equatable {
    private let store: OpaquePointer
    /// The PEM text; nil for files, which are compared by identity.
    private let pem: [UInt8]?

    /// - Parameter pem: one certificate or more.
    package init(pem: [UInt8]) throws(CryptographyError) {
        store = try Self.emptyStore()
        self.pem = pem
        let store = store
        let count = PEMFile.reading(pem) { bio in Self.add(bio, to: store) }
        guard count > 0 else { throw failure("certificates") }
    }

    /// Blocks while the files are read: some 50 ms for a system's bundle.
    ///
    /// - Parameters:
    ///   - file: a bundle in PEM.
    ///   - folder: a directory as `c_rehash` makes it, used without a bundle; its certificates are read only when
    ///     needed. Without both, OpenSSL's default locations are used.
    package init(file: String?, folder: String?) throws(CryptographyError) {
        store = try Self.emptyStore()
        pem = nil
        let isRead =
            if let file {
                X509_STORE_load_file(store, file)
            } else if let folder {
                X509_STORE_load_path(store, folder)
            } else {
                X509_STORE_set_default_paths(store)
            }
        guard isRead == 1 else { throw failure("certificates") }
        clearErrors()
    }

    deinit {
        X509_STORE_free(store)
    }

    package static func == (left: TrustedCertificates, right: TrustedCertificates) -> Bool {
        left === right || (left.pem != nil && left.pem == right.pem)
    }

    /// Makes connections trust these certificates and no others.
    ///
    /// - Parameter context: an `SSL_CTX` of the same OpenSSL, as libcurl hands it to `CURLOPT_SSL_CTX_FUNCTION`. It
    ///   keeps the store for as long as it needs it.
    package func replaceStore(ofContext context: UnsafeMutableRawPointer) {
        SSL_CTX_set1_cert_store(OpaquePointer(context), store)
    }

    private static func emptyStore() throws(CryptographyError) -> OpaquePointer {
        guard let store = X509_STORE_new() else { throw failure("certificate store") }
        // As libcurl sets it: trusted issuers take precedence over those that a server sends, and a chain may end at
        // any trusted certificate.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN))
        X509_STORE_set_verify_cb(store, gatehouse_refuse_common_name)
        return store
    }

    /// - Returns: the number of certificates added.
    private static func add(_ bio: OpaquePointer?, to store: OpaquePointer) -> Int {
        guard let list = PEM_X509_INFO_read_bio(bio, nil, gatehouse_no_passphrase, nil) else { return 0 }
        defer { gatehouse_free_infos(list) }
        var count = 0
        for index in 0..<gatehouse_info_count(list) {
            guard let certificate = gatehouse_info(list, index)?.pointee.x509 else { continue }
            if X509_STORE_add_cert(store, certificate) == 1 { count += 1 }
        }
        return count
    }
}
