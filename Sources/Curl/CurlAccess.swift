internal import CCurl
package import Cryptography
internal import Encoding

/// The options for connecting to a server, in addition to its URL: socket, address and trust. Every server is verified:
/// by its certificate, or by its public key alone.
package struct CurlAccess: Equatable, Sendable {
    /// The path of a unix socket instead of the URL's host and port.
    var unixSocket: String?
    /// The `host:port` to connect to instead of the URL's. The URL's host is then used only by TLS, as the server name
    /// that is requested and verified.
    package var connectTo: String?
    /// The certificates trusted instead of the system's. Their file is read once; later changes of it have no effect.
    package var certificateAuthorities: TrustedCertificates?
    /// The gateway's client certificate with its chain, in PEM; `key` is its private key.
    package var certificate: [UInt8]?
    package var key: Secret?
    /// `sha256//` and the base64 of the public key's hash; several separated by `;`.
    package var pinnedKey: String?
    /// Whether only ``pinnedKey`` is verified. See ``byKeyAlone(_:)``.
    private(set) var trustsKeyAlone = false

    package init(
        unixSocket: String? = nil, connectTo: String? = nil, certificateAuthorities: TrustedCertificates? = nil,
        certificate: [UInt8]? = nil, key: Secret? = nil, pinnedKey: String? = nil
    ) {
        self.unixSocket = unixSocket
        self.connectTo = connectTo
        self.certificateAuthorities = certificateAuthorities
        self.certificate = certificate
        self.key = key
        self.pinnedKey = pinnedKey
    }

    /// Returns the options for a server that is identified by its public key alone, independent of the names, validity
    /// and issuers in its certificate.
    ///
    /// - Parameter hashes: the SHA-256 hashes of the accepted keys' SubjectPublicKeyInfo. If it is empty, no server is
    ///   accepted.
    package static func byKeyAlone(_ hashes: [[UInt8]]) -> Self {
        // Some versions of libcurl interpret an empty string as no pin.
        let pins = hashes.isEmpty ? [[UInt8](repeating: 0, count: 32)] : hashes
        var access = Self(pinnedKey: pins.map { "sha256//" + Base64.encode($0) }.joined(separator: ";"))
        access.trustsKeyAlone = true
        return access
    }
}

extension CurlEasy {
    func set(_ access: CurlAccess) throws(CurlFailure) {
        if let path = access.unixSocket { try set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if let address = access.connectTo { try set(connectTo: address) }
        // Session resumption does not verify the server again, and libcurl's cache does not distinguish whom a session
        // trusts.
        if access.certificateAuthorities != nil || access.trustsKeyAlone { try set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
        if let certificate = access.certificate { try set(CURLOPT_SSLCERT_BLOB, bytes: certificate) }
        if let key = access.key { try set(CURLOPT_SSLKEY_BLOB, bytes: key.expose()) }
        if let key = access.pinnedKey { try set(CURLOPT_PINNEDPUBLICKEY, key) }
        if access.trustsKeyAlone {
            // The pin is set above. libcurl checks it regardless of these options.
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }
}
