package import Cryptography

/// One of an upstream's servers.
package struct UpstreamServer: Sendable, Equatable {
    /// The name in metrics and logs; the same in every process, because subjects are hashed onto it.
    package var name: String
    /// Scheme, host and port, without a path.
    package var url: String
    /// Its share of the requests in relation to the other servers, from 1.
    package var weight: Int
    /// The path of a unix socket instead of the URL's host and port.
    package var unixSocket: String?
    /// `host:port` to connect to instead of the URL's. The URL's host is then only the name for TLS server name
    /// indication and verification.
    package var connectTo: String?
    package var tls: UpstreamTLS?

    package init(
        name: String? = nil, url: String, weight: Int = 1, unixSocket: String? = nil, connectTo: String? = nil,
        tls: UpstreamTLS? = nil
    ) {
        self.name = name ?? url
        self.url = url
        self.weight = weight
        self.unixSocket = unixSocket
        self.connectTo = connectTo
        self.tls = tls
    }
}

/// The TLS settings for servers with https URLs: their verification, and the gateway's own certificate.
package struct UpstreamTLS: Sendable, Equatable {
    /// The certificates trusted instead of the system's.
    package var certificateAuthorities: TrustedCertificates?
    /// The gateway's own certificate with its chain, and the private key, both in PEM.
    package var certificate: [UInt8]?
    package var key: Secret?
    /// `sha256//` and the base64 of the public key's hash; several are separated by `;`.
    package var pinnedKey: String?
    /// The name for server name indication and verification, if it is not the URL's host.
    package var serverName: String?

    package init() {}
}
