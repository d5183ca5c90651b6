package import Cryptography
package import Pipeline
package import SettingsReader

/// A listener for clients: its address and protocols.
package struct ListenSettings: Sendable {
    package var address: HostAndPort
    /// Whether HTTP/2 is supported besides HTTP/1.1.
    package var http2: Bool
    /// Nil: the listener uses plain text.
    package var tls: TLSSettings?
    /// The proxies whose connections begin with a PROXY header; empty: none.
    package var proxies: [IPNetwork]
    /// The hosts that requests may name, in lower case: names, `*.example.com` or IP addresses. Nil: any.
    package var serverNames: [String]?
    /// The https port that requests are redirected to; nil: requests are not redirected.
    package var httpsPort: Int?
    /// The external authorization that this listener provides; nil: requests are proxied.
    package var authorization: ExternalAuthorizationSettings?

    package init(
        address: HostAndPort, http2: Bool, tls: TLSSettings?, proxies: [IPNetwork] = [], serverNames: [String]? = nil,
        httpsPort: Int? = nil, authorization: ExternalAuthorizationSettings? = nil
    ) {
        self.address = address
        self.http2 = http2
        self.tls = tls
        self.proxies = proxies
        self.serverNames = serverNames
        self.httpsPort = httpsPort
        self.authorization = authorization
    }
}

/// The oldest TLS version that is accepted.
package enum TLSVersionSetting: String, Sendable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}

/// A listener's TLS, with the files already read.
package struct TLSSettings: Sendable {
    /// The first is the default for names that no other certificate covers. Empty only if there are ``names``.
    package var certificates: [TLSCertificateSettings]
    /// The host names whose certificates are obtained by ACME (see ``ACMESettings``), in lower case.
    package var names: [String] = []
    /// The place of these names, otherwise that of the section.
    package var namesPlace: SettingsPlace
    package var minimumVersion: TLSVersionSetting
    /// The certificates that client certificates are verified with, in PEM; nil: clients need no certificate.
    package var clientAuthorities: [UInt8]?
    /// The place of the client authorities, otherwise that of the section.
    package var place: SettingsPlace
}

/// A certificate chain and its key, in PEM.
package struct TLSCertificateSettings: Sendable {
    package var chain: [UInt8]
    package var chainPlace: SettingsPlace
    package var key: Secret
    package var keyPlace: SettingsPlace
}

extension ListenSettings {
    static func all(of file: SettingsMapping) -> [ListenSettings] {
        guard let node = file.required("listeners"), let elements = node.elements(expected: "listeners") else {
            return []
        }
        if elements.isEmpty { node.error("must hold at least one listener") }
        var listeners: [ListenSettings] = []
        for element in elements {
            // A section with a misspelled key is read twice, so only the result counts.
            let listener = element.section { keys -> ListenSettings? in
                let tls = keys.optional("tls").flatMap { $0.section(TLSSettings.init(reading:)) } ?? nil
                let http2 = keys.value("http2", .boolean, default: true)
                let proxies = keys.optional("proxy_protocol")?.section(Self.proxies(reading:)) ?? []
                let serverNames = Self.serverNames(reading: keys)
                let httpsPort = keys.value("redirect_to_https", .integer(1...65_535))
                if httpsPort != nil, keys.has("tls") {
                    keys.error("redirect_to_https", "has no effect with tls: requests come by https already")
                }
                let authorization = ExternalAuthorizationSettings.read(in: keys)
                guard let node = keys.required("address"), let address = node.read(.listenAddress) else { return nil }
                node.refuse(address, usedIn: listeners.map(\.address))
                keys.notePlace(of: "address")
                return ListenSettings(
                    address: address, http2: http2, tls: tls, proxies: proxies, serverNames: serverNames,
                    httpsPort: httpsPort, authorization: authorization)
            }
            if let listener = listener ?? nil { listeners.append(listener) }
        }
        return listeners
    }

    private static func serverNames(reading keys: SettingsMapping) -> [String]? {
        if keys.isEmptyList("server_names") {
            keys.error("server_names", "must hold at least one name, or be left out")
        }
        return keys.list("server_names", .serverName, of: "host names")
    }

    static func proxies(reading keys: SettingsMapping) -> [IPNetwork] {
        guard let node = keys.required("trusted") else { return [] }
        if keys.isEmptyList("trusted") { node.error("must hold at least one address or network") }
        return keys.list("trusted", .network, of: "addresses or networks") ?? []
    }
}

extension ScalarFormat where Value == String {
    /// A host name, `*.` and a domain, or an IP address, converted to lower case.
    static var serverName: Self {
        Self { (text) throws(ScalarRefusal) in
            if let address = IPAddress(text) { return address.description }
            let name = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
            guard let (host, port) = HostAndPort.split(name), port == nil, !text.hasPrefix("[") else {
                throw ScalarRefusal("must be a host like api.example.com, *.example.com or 192.0.2.7, without a port")
            }
            return text.hasPrefix("*.") ? "*.\(host)" : host
        }
    }
}

extension SettingsNode {
    /// Records an error if another listener uses the address or port. Port 0 gets a free port for each listener, so it
    /// can't collide.
    func refuse(_ address: HostAndPort, usedIn others: [HostAndPort]) {
        if address.port != 0, others.contains(address) { return refuse("another listener has this address") }
        if let other = others.first(where: address.overlaps) {
            refuse("another listener has the port already, with \(other)")
        }
    }
}

extension TLSSettings {
    init?(reading keys: SettingsMapping) {
        self.init(reading: keys, mayObtain: true)
    }

    /// - Parameter mayObtain: whether certificates may be obtained by ACME (see ``ACMESettings``).
    init?(reading keys: SettingsMapping, mayObtain: Bool) {
        minimumVersion = keys.value("minimum_version", .oneOf, default: .tls12)
        let authorities = keys.optional("client_ca")
        clientAuthorities = authorities?.readCertificates()
        place = authorities?.place ?? keys.node.place
        namesPlace = keys.node.place
        if mayObtain, let acme = keys.optional("acme") {
            namesPlace = acme.place
            names = acme.section(Self.names(reading:)) ?? []
            // The configured certificates may serve other names.
            guard keys.has("certificates") else {
                certificates = []
                return
            }
        }
        guard let node = keys.required("certificates"), let elements = node.elements(expected: "certificates") else {
            return nil
        }
        if elements.isEmpty { node.error("must hold at least one certificate") }
        certificates = elements.compactMap { $0.section(TLSCertificateSettings.init(reading:)) ?? nil }
    }

    private static func names(reading keys: SettingsMapping) -> [String] {
        guard let node = keys.required("names") else { return [] }
        if keys.isEmptyList("names") { node.error("must hold at least one name") }
        return keys.list("names", .certificateName, of: "host names") ?? []
    }
}

extension TLSCertificateSettings {
    init?(reading keys: SettingsMapping) {
        let (chainNode, keyNode) = (keys.required("certificate"), keys.required("key"))
        let chain = chainNode?.readCertificates()
        let key = keyNode?.readPrivateKey(of: chain)
        guard let chainNode, let keyNode, let chain, let key else { return nil }
        (self.chain, chainPlace) = (chain, chainNode.place)
        (self.key, keyPlace) = (key, keyNode.place)
    }
}
