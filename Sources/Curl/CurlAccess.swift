internal import CCurl

/// How a server is reached beyond its URL: through which socket, by which address, and whom to trust. Certificates are
/// always verified.
package struct CurlAccess: Hashable, Sendable {
    /// The path of a unix socket instead of the URL's host and port.
    package var unixSocket: String?
    /// `host:port` to connect to instead of the URL's, whose host is then only the name that TLS asks for and verifies.
    package var connectTo: String?
    /// The file of certificates trusted, PEM, instead of the system's.
    package var certificateAuthorities: String?
    /// Files of the gateway's own certificate, with its chain, and its key, PEM.
    package var certificate: String?
    package var key: String?
    /// `sha256//` and the base64 of the public key's hash; several separated by `;`.
    package var pinnedKey: String?

    package init(
        unixSocket: String? = nil, connectTo: String? = nil, certificateAuthorities: String? = nil,
        certificate: String? = nil, key: String? = nil, pinnedKey: String? = nil
    ) {
        self.unixSocket = unixSocket
        self.connectTo = connectTo
        self.certificateAuthorities = certificateAuthorities
        self.certificate = certificate
        self.key = key
        self.pinnedKey = pinnedKey
    }
}

extension CurlEasy {
    func set(_ access: CurlAccess) throws(CurlFailure) {
        if let path = access.unixSocket { try set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if let address = access.connectTo { try set(connectTo: address) }
        if let file = access.certificateAuthorities {
            try set(CURLOPT_CAINFO, file)
            // Else the system's folder of certificates would be trusted beside the file.
            try gatehouse_setopt_text(handle, CURLOPT_CAPATH, nil).check()
            // Else libcurl would keep what it has read for a day, whatever the file says by then.
            try set(CURLOPT_CA_CACHE_TIMEOUT, 0)
        }
        if let file = access.certificate { try set(CURLOPT_SSLCERT, file) }
        if let file = access.key { try set(CURLOPT_SSLKEY, file) }
        if let key = access.pinnedKey { try set(CURLOPT_PINNEDPUBLICKEY, key) }
    }
}
