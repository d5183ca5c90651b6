internal import Cryptography
internal import Encoding
internal import NIOSSL

/// A certificate that a listener presents to its clients, for monitoring.
package struct ServedCertificate: Sendable, Equatable {
    /// The DNS names that it is for, in lower case.
    package var names: [String]
    /// Seconds since 1970; of the chain's certificate that ends first.
    package var expiresAt: Int64
}

/// A certificate chain with its key, read.
struct TLSIdentity: Sendable {
    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// The DNS names of the subject alternative names, in lower case.
    let names: [String]
    /// The name that the gateway obtained it for; nil for one of a file.
    let obtainedFor: ExactText?
    let served: ServedCertificate

    init(_ certificate: TLSCertificate, index: Int) throws(TLSError) {
        guard let read = try? NIOSSLCertificate.fromPEMBytes(certificate.chain), let leaf = read.first else {
            throw .malformedCertificate(index)
        }
        guard let key = try? NIOSSLPrivateKey(bytes: certificate.key.expose(), format: .pem) else {
            throw .malformedKey(index)
        }
        self.chain = read.map { .certificate($0) }
        self.key = .privateKey(key)
        obtainedFor = certificate.obtainedFor
        self.names = leaf._subjectAlternativeNames().filter { $0.nameType == .dnsName }.map {
            String(decoding: $0.contents, as: UTF8.self).asciiLowercased
        }
        served = ServedCertificate(
            names: names, expiresAt: read.map { Int64($0.notValidAfter) }.min() ?? Int64(leaf.notValidAfter))
    }

    var override: NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = chain
        override.privateKey = key
        return override
    }
}

/// Which identity a server name gets (RFC 6066 §3, RFC 9525 §6.3).
struct ServerNames: Sendable {
    /// In the order in which they are preferred.
    private var exact: [ExactText: [TLSIdentity]] = [:]
    /// By what follows the `*`, such as `.example.com`.
    private var wildcards: [ExactText: [TLSIdentity]] = [:]

    /// The identity that was obtained for a name is preferred there, then the first that has it.
    init(_ identities: [TLSIdentity]) {
        for identity in identities {
            for name in identity.names {
                if name.begins(with: "*.") {
                    wildcards[ExactText(String(Substring(name.utf8.dropFirst()))), default: []].append(identity)
                } else {
                    exact[ExactText(name), default: []].append(identity)
                }
            }
        }
        for identity in identities {
            guard let name = identity.obtainedFor else { continue }
            exact[name, default: []].insert(identity, at: 0)
        }
    }

    /// One that has expired serves only where there is no other.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: nil where no identity is for that name: then the default serves.
    func identity(for serverName: String?, now: Int64) -> TLSIdentity? {
        guard let name = serverName?.asciiLowercased else { return nil }
        var found = exact[ExactText(name)] ?? []
        // A wildcard stands for exactly one label.
        if let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")), dot != name.startIndex {
            found += wildcards[ExactText(String(Substring(name.utf8[dot...])))] ?? []
        }
        return found.first { $0.served.expiresAt > now } ?? found.first
    }
}
