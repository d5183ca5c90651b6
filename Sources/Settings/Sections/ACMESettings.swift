package import Cryptography
internal import Pipeline
internal import SettingsReader

/// The ACME directory that listeners obtain certificates from (RFC 8555).
package struct ACMESettings: Sendable, Equatable {
    /// The method by which the gateway proves control of a name.
    package enum Challenge: String, Sendable, CaseIterable {
        /// A response at a path of port 80.
        case http = "http-01"
        /// A certificate in a handshake on port 443.
        case tlsALPN = "tls-alpn-01"
    }

    /// The https URL of the directory.
    package var directory: ServiceURL
    /// E-mail addresses for the account; may be empty.
    package var contacts: [String]
    package var challenge: Challenge
    /// The trust anchors for the directory's own certificate; nil: the system's.
    package var authorities: TrustedCertificates?
}

extension ACMESettings {
    /// The maximum number of names of all listeners.
    private static let mostNames = 100

    /// - Parameter listeners: all listeners of the file.
    init?(of file: SettingsMapping, listeners: [ListenSettings]) {
        let wanting = listeners.compactMap(\.tls).filter { !$0.names.isEmpty }
        guard let node = file.optional("acme") else {
            for tls in wanting {
                file.node.context.error("needs the section acme, which names the directory", at: tls.namesPlace)
            }
            return nil
        }
        guard let settings = node.section(Self.init(reading:)) ?? nil else { return nil }
        self = settings
        if wanting.isEmpty, !listeners.isEmpty { node.error("no listener has tls.acme") }
        if wanting.reduce(0, { $0 + $1.names.count }) > Self.mostNames {
            node.error("the listeners name more than \(Self.mostNames) hosts under tls.acme")
        }
        if !wanting.isEmpty, !listeners.contains(where: canAnswer) {
            node.error(
                challenge == .http
                    ? "http-01 needs a listener without tls and external_authorization, reached at port 80"
                    : "tls-alpn-01 needs a listener with tls and without external_authorization, reached at port 443")
        }
    }

    /// Whether the listener can answer the challenge. A listener with external authorization only sends decisions.
    private func canAnswer(_ listener: ListenSettings) -> Bool {
        listener.authorization == nil && (listener.tls == nil) == (challenge == .http)
    }

    private init?(reading keys: SettingsMapping) {
        let directoryNode = keys.required("directory")
        let directory = directoryNode?.read(.url)
        if directory?.isPlain == true { directoryNode?.error("must begin with https://") }
        contacts = keys.list("contact", .mailAddress, of: "e-mail addresses") ?? []
        challenge = keys.value("challenge", .oneOf, default: .http)
        authorities = keys.optional("ca")?.readTrustedCertificates()
        let terms = keys.required("accept_terms")
        if terms?.read(.boolean) == false {
            terms?.error("must be true: without its terms of service no directory gives certificates")
        }
        guard let directory else { return nil }
        self.directory = directory
    }
}

extension ScalarFormat where Value == String {
    /// A name that ACME challenges can validate, converted to lower case.
    static var certificateName: Self {
        Self { (text) throws(ScalarRefusal) in
            guard !text.hasPrefix("*") else {
                throw ScalarRefusal("a wildcard takes the challenge dns-01, which Gatehouse does not answer")
            }
            let refusal = ScalarRefusal("must be a host name like api.example.com, without a port")
            guard IPAddress(text) == nil, let (host, port) = HostAndPort.split(text[...]), port == nil else {
                throw refusal
            }
            // RFC 1123, 2.1 and RFC 1035, 2.3.4.
            let labels = host.split(separator: ".", omittingEmptySubsequences: false)
            guard host.utf8.count <= 253,
                labels.allSatisfy({ label in
                    (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                        && label.utf8.allSatisfy { $0.isHostNameByte }
                })
            else { throw refusal }
            return host
        }
    }

    /// An e-mail address that ACME directories accept.
    fileprivate static var mailAddress: Self {
        Self { (text) throws(ScalarRefusal) in
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 254,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#"<>()[]\,;:?"%"#.utf8.contains($0) })
            else { throw ScalarRefusal("must be an e-mail address like ops@example.com") }
            return text
        }
    }
}

extension UInt8 {
    fileprivate var isHostNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
