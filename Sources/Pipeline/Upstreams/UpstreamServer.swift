package import Cryptography

/// One of an upstream's servers.
package struct UpstreamServer: Sendable, Equatable {
    /// How metrics and logs call it; the same in every process, since subjects are hashed onto it.
    package var name: String
    /// Scheme, host and port, without a path.
    package var url: String
    /// Its part of the requests beside the others', from 1.
    package var weight: Int
    /// The path of a unix socket instead of the URL's host and port.
    package var unixSocket: String?
    /// `host:port` to connect to instead of the URL's, whose host is then only the name that TLS asks for and verifies.
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

/// How servers with https URLs are verified, and how the gateway shows who it is.
package struct UpstreamTLS: Sendable, Equatable {
    /// The certificates trusted instead of the system's.
    package var certificateAuthorities: TrustedCertificates?
    /// The gateway's own certificate, with its chain, and its key, PEM.
    package var certificate: [UInt8]?
    package var key: Secret?
    /// `sha256//` and the base64 of the public key's hash; several separated by `;`.
    package var pinnedKey: String?
    /// The name that is asked for and verified, where it is not the URL's host.
    package var serverName: String?

    package init() {}
}
