internal import CCurl
package import Cryptography
internal import Encoding

/// How a server is reached beyond its URL: through which socket, by which address, and whom to trust. Every server is
/// verified: by its certificate, or by its key alone.
package struct CurlAccess: Equatable, Sendable {
    /// The path of a unix socket instead of the URL's host and port.
    var unixSocket: String?
    /// `host:port` to connect to instead of the URL's, whose host is then only the name that TLS asks for and verifies.
    package var connectTo: String?
    /// The certificates trusted instead of the system's, as read from their file once. Later changes of the file have
    /// no effect.
    package var certificateAuthorities: TrustedCertificates?
    /// The gateway's own certificate, with its chain, and its key, PEM.
    package var certificate: [UInt8]?
    package var key: Secret?
    /// `sha256//` and the base64 of the public key's hash; several separated by `;`.
    package var pinnedKey: String?
    /// Whether nothing but ``pinnedKey`` is verified. See ``byKeyAlone(_:)``.
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

    /// A server that is known by its key: one of these proves that it is the right one, whatever its certificate says
    /// of names, times and issuers.
    ///
    /// - Parameter hashes: of the keys, each the SHA-256 of a SubjectPublicKeyInfo. With none, no server is the right
    ///   one.
    package static func byKeyAlone(_ hashes: [[UInt8]]) -> Self {
        // libcurl takes an empty text for no pin in some versions.
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
        // A session is resumed without verifying the server again, and libcurl does not know whom this one trusts.
        if access.certificateAuthorities != nil || access.trustsKeyAlone { try set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
        if let certificate = access.certificate { try set(CURLOPT_SSLCERT_BLOB, bytes: certificate) }
        if let key = access.key { try set(CURLOPT_SSLKEY_BLOB, bytes: key.expose()) }
        if let key = access.pinnedKey { try set(CURLOPT_PINNEDPUBLICKEY, key) }
        if access.trustsKeyAlone {
            // The pin is set above, and libcurl checks it whatever these say.
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }
}
