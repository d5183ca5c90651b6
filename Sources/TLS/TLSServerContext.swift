internal import CBoringSSL

/// The settings that the TLS connections of a server share: an `SSL_CTX` of BoringSSL.
///
/// Its keys for session tickets are random. BoringSSL replaces them every two days, and accepts the previous ones for
/// two more.
///
/// `@unchecked Sendable`: BoringSSL locks an `SSL_CTX` where it changes, and the callbacks read constants only.
package final class TLSServerContext: @unchecked Sendable {
    package struct Configuration: Sendable {
        /// Whether TLS 1.2 is refused.
        package var requiresTLS13 = false
        /// In order of preference (RFC 7301).
        package var applicationProtocols: [String] = []
        /// The certificate for clients whose server name has none of its own, and for those that send no name. If it is
        /// nil, their handshakes fail.
        package var identity: TLSServerIdentity?
        /// Returns the identity for a server name as the client sent it (RFC 6066 §3); nil: `identity`.
        package var select: (@Sendable (String) -> TLSServerIdentity?)?
        /// The certificate authorities for client certificates, in DER. If it is nil, no certificate is requested;
        /// otherwise each client must have one.
        package var clientAuthorities: [[UInt8]]?

        package init() {}
    }

    /// BoringSSL refused the settings: the key does not belong to the certificate, or one of the certificates is
    /// malformed.
    package struct Refused: Error {}

    let pointer: OpaquePointer
    private let select: (@Sendable (String) -> TLSServerIdentity?)?
    /// In ALPN's format: each name after its length. BoringSSL reads the selected one when the callback has returned.
    private let protocols: UnsafeBufferPointer<UInt8>

    /// RFC 9325 §4.2: only forward secrecy and authenticated encryption. TLS 1.3 has no other cipher suites.
    private static let cipherSuites = [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
    ].joined(separator: ":")
    /// BoringSSL's default groups, and the hybrid with ML-KEM, which protects recorded traffic from later quantum
    /// computers. The client's order decides.
    private static let groups = [
        UInt16(SSL_GROUP_X25519_MLKEM768), UInt16(SSL_GROUP_X25519), UInt16(SSL_GROUP_SECP256R1),
        UInt16(SSL_GROUP_SECP384R1),
    ]

    package init(_ configuration: Configuration) throws(Refused) {
        defer { ERR_clear_error() }
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw Refused() }
        self.pointer = pointer
        select = configuration.select
        let names = configuration.applicationProtocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        let protocols = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: names.count)
        _ = protocols.initialize(from: names)
        self.protocols = UnsafeBufferPointer(protocols)
        let oldest = configuration.requiresTLS13 ? TLS1_3_VERSION : TLS1_2_VERSION
        guard SSL_CTX_set_min_proto_version(pointer, UInt16(oldest)) == 1,
            SSL_CTX_set_max_proto_version(pointer, UInt16(TLS1_3_VERSION)) == 1,
            SSL_CTX_set_strict_cipher_list(pointer, Self.cipherSuites) == 1,
            SSL_CTX_set1_group_ids(pointer, Self.groups, Self.groups.count) == 1
        else { throw Refused() }
        if let identity = configuration.identity {
            guard
                SSL_CTX_set_chain_and_key(pointer, identity.chain, identity.chain.count, identity.key, nil) == 1
            else { throw Refused() }
        }
        if let authorities = configuration.clientAuthorities { try requestCertificates(of: authorities) }
        // Both callbacks have this object, which a session retains as long as it uses them.
        let this = Unmanaged.passUnretained(self).toOpaque()
        if select != nil { SSL_CTX_set_cert_cb(pointer, { TLSServerContext.of($1).selectIdentity($0) }, this) }
        if !names.isEmpty {
            SSL_CTX_set_alpn_select_cb(
                pointer,
                { _, name, length, offered, count, context in
                    TLSServerContext.of(context).selectProtocol(name, length, offered, count)
                }, this)
        }
    }

    deinit {
        SSL_CTX_free(pointer)
        protocols.deallocate()
    }

    private static func of(_ argument: UnsafeMutableRawPointer?) -> TLSServerContext {
        guard let argument else { preconditionFailure("the callbacks have their context") }
        return Unmanaged.fromOpaque(argument).takeUnretainedValue()
    }

    private func requestCertificates(of authorities: [[UInt8]]) throws(Refused) {
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        // A client may send a root that is not trusted beside a chain that is.
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_TRUSTED_FIRST))
        for authority in authorities {
            let certificate = authority.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return d2i_X509(nil, &start, bytes.count)
            }
            defer { X509_free(certificate) }
            guard certificate != nil, X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), certificate) == 1,
                SSL_CTX_add_client_CA(pointer, certificate) == 1
            else { throw Refused() }
        }
    }

    // MARK: Callbacks

    /// - Returns: 1 to go on; 0 to end the handshake.
    private func selectIdentity(_ ssl: OpaquePointer?) -> Int32 {
        guard let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
            let identity = select?(String(cString: name))
        else { return 1 }
        return SSL_set_chain_and_key(ssl, identity.chain, identity.chain.count, identity.key, nil)
    }

    private func selectProtocol(
        _ name: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?, _ count: UInt32
    ) -> Int32 {
        var found: UnsafeMutablePointer<UInt8>?
        var foundLength: UInt8 = 0
        let result = SSL_select_next_proto(
            &found, &foundLength, protocols.baseAddress, UInt32(protocols.count), offered, count)
        // Without a common protocol, the connection goes on without one.
        guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_NOACK }
        name?.pointee = UnsafePointer(found)
        length?.pointee = foundLength
        return SSL_TLSEXT_ERR_OK
    }
}
