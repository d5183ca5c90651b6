package import Curl
package import Pipeline

extension UpstreamServer {
    /// The options for connecting to the server, in addition to its URL.
    package var access: CurlAccess {
        CurlAccess(
            unixSocket: unixSocket, connectTo: connectTo, certificateAuthorities: tls?.certificateAuthorities,
            certificate: tls?.certificate, key: tls?.key, pinnedKey: tls?.pinnedKey)
    }

    /// The authority for requests: `host`, or `host:port` if the port is not the scheme's default.
    package var authority: String {
        guard let slashes = url.utf8.firstRange(of: "://".utf8) else { return url }
        return String(Substring(url.utf8[slashes.upperBound...].prefix { $0 != UInt8(ascii: "/") }))
    }
}
