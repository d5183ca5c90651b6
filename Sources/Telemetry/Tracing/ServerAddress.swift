/// A server as spans name it (OpenTelemetry's conventions, `server.address` and `server.port`).
package struct ServerAddress: Equatable {
    /// A name, an address without brackets, or the path of a unix socket.
    package let host: String
    /// Nil for a unix socket.
    package let port: Int?

    /// - Parameters:
    ///   - url: `http` or `https`, with or without a port; what is behind the port is ignored.
    ///   - socket: the path of a unix socket to which the URL is asked.
    package init?(url: String?, socket: String? = nil) {
        if let socket {
            (host, port) = (socket, nil)
            return
        }
        guard let url, let scheme = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[scheme...].hasPrefix("://") else {
            return nil
        }
        let authority = url[scheme...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let standard = url[..<scheme] == "https" ? 443 : 80
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = String(authority[..<end].dropFirst())
            port = Int(authority[end...].dropFirst(2)) ?? standard
        } else {
            let parts = authority.split(separator: ":", maxSplits: 1)
            guard let name = parts.first else { return nil }
            host = String(name)
            port = parts.count > 1 ? Int(parts[1]) ?? standard : standard
        }
    }
}
