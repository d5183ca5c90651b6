internal import Cryptography
internal import Pipeline
internal import SettingsReader

/// The address of a server.
enum ServerAddress: Hashable, CustomStringConvertible {
    /// Scheme, host and port; the path is empty.
    case url(ServiceURL)
    /// The path of a unix socket.
    case unix(String)

    var description: String {
        switch self {
        case .url(let url): url.description
        case .unix(let path): "unix:\(path)"
        }
    }
}

/// A server of an upstream as the file has it.
struct ServerEntry {
    var address: ServerAddress
    /// The relative share of requests, from 1.
    var weight: Int

    var isTLS: Bool {
        guard case .url(let url) = address else { return false }
        return url.scheme == .https
    }
}

extension ServerEntry {
    /// Reads the upstream's `servers`, or the single server of `url`.
    static func all(of keys: SettingsMapping) -> [Self] {
        if let list = keys.optional("servers") {
            if keys.optional("url") != nil { keys.error("url", "stands beside servers: give one of the two") }
            return read(list)
        }
        guard let address = keys.required("url", .serverAddress) else { return [] }
        return [Self(address: address, weight: 1)]
    }

    private static func read(_ list: SettingsNode) -> [Self] {
        guard let elements = list.elements(expected: "servers") else { return [] }
        if elements.isEmpty { list.error("must hold at least one server") }
        if elements.count > 100 { list.error("must not hold more than 100 servers") }
        var servers: [Self] = []
        for element in elements {
            let read = element.section { keys -> Self? in
                let weight = keys.value("weight", .integer(1...100), default: 1)
                guard let address = keys.required("url", .serverAddress) else { return nil }
                return Self(address: address, weight: weight)
            }
            guard let server = read.flatMap({ $0 }) else { continue }
            if servers.contains(where: { $0.address == server.address }) {
                element.error("another server has the same url")
            }
            servers.append(server)
        }
        return servers
    }
}

extension ScalarFormat where Value == ServerAddress {
    /// `http://host:port`, `https://host:port` or `unix:/path`.
    static var serverAddress: Self {
        let schema = ScalarSchema(
            .pattern("^(\(ScalarSchema.schemes)|unix:/)"), "http://host:port, https://host:port or unix:/path.")
        return Self(schema: schema) { (text) throws(ScalarRefusal) in
            guard text.hasPrefix("unix:") else { return .url(try ScalarFormat<ServiceURL>.origin.read(text)) }
            let path = String(text.dropFirst(5))
            // sockaddr_un has room for 107 bytes and the terminating zero.
            guard path.hasPrefix("/"), path.utf8.count <= 107, path.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw ScalarRefusal("must be unix: and the absolute path of a socket, at most 107 characters") }
            return .unix(path)
        }
    }
}

extension UpstreamServer {
    /// - Parameter tls: the TLS settings of servers with https URLs.
    init(_ entry: ServerEntry, _ tls: UpstreamTLS?) {
        let name = entry.address.description
        switch entry.address {
        case .unix(let path):
            self.init(name: name, url: "http://localhost", weight: entry.weight, unixSocket: path)
        case .url(let url):
            self.init(name: name, url: url.description, weight: entry.weight)
            guard entry.isTLS, let tls else { return }
            self.tls = tls
            guard let serverName = tls.serverName else { return }
            // libcurl takes the name for SNI and verification from the URL, and the address from `connectTo`.
            connectTo = HostAndPort(host: url.host, port: url.port).description
            self.url = ServiceURL(scheme: .https, host: serverName, port: url.port, path: "").description
        }
    }
}

extension UpstreamTLS {
    init(reading keys: SettingsMapping) {
        self.init()
        let (authorities, chain, keyNode) = (keys.optional("ca"), keys.optional("certificate"), keys.optional("key"))
        certificateAuthorities = authorities?.readTrustedCertificates()
        certificate = chain?.readCertificates()
        key = keyNode?.readPrivateKey(of: certificate)
        pinnedKey = keys.value("pinned_key", .pinnedKey)
        serverName = keys.value("server_name", .hostName)
        if (chain == nil) != (keyNode == nil), keys.has("certificate") != keys.has("key") {
            keys.node.error("certificate and key need each other")
        }
    }
}

extension ScalarFormat where Value == String {
    /// The value of libcurl's `CURLOPT_PINNEDPUBLICKEY`: the SHA-256 of the key's DER form in base64, one or several.
    fileprivate static var pinnedKey: Self {
        Self { (text) throws(ScalarRefusal) in
            let isPin = { (pin: Substring) in
                pin.hasPrefix("sha256//") && pin.utf8.count == 52 && pin.hasSuffix("=")
                    && pin.dropFirst(8).dropLast().allSatisfy {
                        $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "/")
                    }
            }
            guard text.split(separator: ";", omittingEmptySubsequences: false).allSatisfy(isPin) else {
                throw ScalarRefusal("must be sha256// and the base64 of a public key's SHA-256, several separated by ;")
            }
            return text
        }
    }

    /// A host name without a port.
    fileprivate static var hostName: Self {
        Self { (text) throws(ScalarRefusal) in
            guard let (host, port) = HostAndPort.split(text[...]), port == nil, !host.contains(":") else {
                throw ScalarRefusal("must be a host name like api.internal.example.com")
            }
            return host
        }
    }
}
