internal import Cryptography
internal import Encoding
internal import NIOSSL
internal import TLS

/// A certificate that a listener presents to its clients, for monitoring.
package struct ServedCertificate: Sendable, Equatable {
    /// The certificate's DNS names, in lower case.
    package var names: [String]
    /// The expiry in seconds since 1970, of the certificate in the chain that expires first.
    package var expiresAt: Int64
}

/// A parsed certificate chain and its key.
struct TLSIdentity: Sendable {
    let identity: TLSServerIdentity
    /// The DNS names of the subject alternative names, in lower case.
    let names: [String]
    /// The name for which the gateway obtained it; nil if it was read from a file.
    let obtainedFor: ExactText?
    let served: ServedCertificate

    init(_ certificate: TLSCertificate, index: Int) throws(TLSError) {
        guard let read = try? NIOSSLCertificate.fromPEMBytes(certificate.chain), let leaf = read.first,
            let chain = try? read.map({ try $0.toDERBytes() })
        else { throw .malformedCertificate(index) }
        do {
            identity = try TLSServerIdentity(chain: chain, key: certificate.key.expose())
        } catch {
            throw .malformedKey(index)
        }
        obtainedFor = certificate.obtainedFor
        self.names = leaf._subjectAlternativeNames().filter { $0.nameType == .dnsName }.map {
            String(decoding: $0.contents, as: UTF8.self).asciiLowercased
        }
        served = ServedCertificate(
            names: names, expiresAt: read.map { Int64($0.notValidAfter) }.min() ?? Int64(leaf.notValidAfter))
    }
}

/// The choice of an identity by server name (RFC 6066 §3, RFC 9525 §6.3).
struct ServerNames: Sendable {
    /// By DNS name, in order of preference.
    private var exact: [ExactText: [TLSIdentity]] = [:]
    /// By the part after the `*`, such as `.example.com`, in order of preference.
    private var wildcards: [ExactText: [TLSIdentity]] = [:]

    /// For each name, an identity that was obtained for it is preferred; otherwise the first with that name.
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

    /// Returns the identity for a server name. An expired one is used only if there is no other.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: nil if no identity has that name; the default is used then.
    func identity(for serverName: String?, now: Int64) -> TLSIdentity? {
        guard let name = serverName?.asciiLowercased else { return nil }
        var found = exact[ExactText(name)] ?? []
        // A wildcard matches exactly one label.
        if let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")), dot != name.startIndex {
            found += wildcards[ExactText(String(Substring(name.utf8[dot...])))] ?? []
        }
        return found.first { $0.served.expiresAt > now } ?? found.first
    }
}
