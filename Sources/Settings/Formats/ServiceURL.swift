internal import SettingsReader

/// The `http` or `https` URL of a service: scheme, host, port and path, without user information, query or fragment.
package struct ServiceURL: Sendable, Hashable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http
        case https
    }

    package let scheme: Scheme
    /// Lower case; IPv6 without its brackets.
    package let host: String
    /// The URL's port, or the scheme's default port.
    package let port: Int
    /// Empty, or beginning with `/` and not ending with one.
    package let path: String

    package init(scheme: Scheme, host: String, port: Int, path: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// The URL as text; the scheme's default port is omitted.
    package var description: String {
        let authority = HostAndPort(host: host, port: port).description
        let usual = scheme == .http ? ":80" : ":443"
        return
            "\(scheme.rawValue)://\(authority.hasSuffix(usual) ? String(authority.dropLast(usual.count)) : authority)"
            + path
    }

    /// Whether the connection is unencrypted.
    package var isPlain: Bool { scheme == .http }
}

extension ScalarFormat where Value == ServiceURL {
    /// A URL with a path.
    static var url: Self {
        Self(schema: .url) { (text) throws(ScalarRefusal) in try parseURL(text) }
    }

    /// A URL with scheme, host and port only.
    static var origin: Self {
        Self(schema: .url) { (text) throws(ScalarRefusal) in
            let url = try parseURL(text)
            guard url.path.isEmpty else {
                throw ScalarRefusal(
                    "must have no path: the client's own is sent on; add_prefix of a route puts one before it")
            }
            return url
        }
    }
}

/// Parses the parts of a URL that a service's address needs (RFC 3986, section 3).
private func parseURL(_ text: String) throws(ScalarRefusal) -> ServiceURL {
    let example = "must be a URL like http://127.0.0.1:8000 or https://api.example.com"
    guard let colon = text.range(of: "://") else { throw ScalarRefusal(example) }
    guard let scheme = ServiceURL.Scheme(rawValue: text[..<colon.lowerBound].lowercased()) else {
        throw ScalarRefusal("must begin with http:// or https://")
    }
    let rest = text[colon.upperBound...]
    guard rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !rest.contains("\\") else {
        throw ScalarRefusal(example)
    }
    guard !rest.contains("@") else { throw ScalarRefusal("must not hold a user name or password") }
    guard !rest.contains("?"), !rest.contains("#") else { throw ScalarRefusal("must have no query and no fragment") }
    let authority = rest.prefix { $0 != "/" }
    guard let (host, port) = HostAndPort.split(authority), port != 0 else { throw ScalarRefusal(example) }
    var path = rest[authority.endIndex...]
    if path.hasSuffix("/") { path.removeLast() }
    return ServiceURL(scheme: scheme, host: host, port: port ?? (scheme == .http ? 80 : 443), path: String(path))
}

extension String {
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            formIndex(after: &start)
        }
        return nil
    }
}
