internal import Encoding
internal import HTTPTypes
internal import Locking
internal import NIOSSL

/// The challenges of an ACME directory that listeners answer now, before anything else: with a text
/// (RFC 8555, 8.3), or with a certificate at a handshake (RFC 8737).
///
/// Event loops read what a service writes. They take the lock for requests of the challenges' path, and for each
/// handshake at a listener with certificates of a directory: neither is often, and a handshake takes a thousand times
/// as long.
package final class PendingChallenges: Sendable {
    private struct Pending {
        /// By token.
        var responses: [ExactText: String] = [:]
        /// By server name.
        var contexts: [ExactText: NIOSSLContext] = [:]
    }

    private static let path = "/.well-known/acme-challenge/"
    /// The protocol of a handshake that asks for a challenge's certificate.
    static let tlsProtocol = "acme-tls/1"

    private let pending = Locked(Pending())

    package init() {}

    /// All that are pending, in the place of those before.
    ///
    /// - Parameter certificates: one that cannot be used is left out.
    package func set(
        responses: [(token: String, text: String)], certificates: [(name: String, certificate: TLSCertificate)] = []
    ) {
        var new = Pending()
        for (token, text) in responses { new.responses[ExactText(token)] = text }
        for (name, certificate) in certificates { new.contexts[ExactText(name)] = Self.context(certificate) }
        let made = new
        pending.withLock { $0 = made }
    }

    private static func context(_ certificate: TLSCertificate) -> NIOSSLContext? {
        guard let identity = try? TLSIdentity(certificate, index: 0) else { return nil }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: identity.chain, privateKey: identity.key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [tlsProtocol]
        configuration.shutdownTimeout = ListenerTLS.shutdownTimeout
        return try? NIOSSLContext(configuration: configuration)
    }

    /// The text that answers a request; nil for one that is none of a pending challenge.
    func response(to head: HTTPRequest) -> String? {
        guard let path = head.path, path.begins(with: Self.path), head.method == .get else { return nil }
        let token = ExactText(String(Substring(path.utf8.dropFirst(Self.path.utf8.count))))
        return pending.withLock { $0.responses[token] }
    }

    /// Whether a handshake may be one of a challenge.
    var awaitsHandshakes: Bool { pending.withLock { !$0.contexts.isEmpty } }

    /// The context that answers a handshake; nil for one that is none of a pending challenge. Such a client offers the
    /// one protocol and no other (RFC 8737, 3).
    func context(for hello: ClientHello) -> NIOSSLContext? {
        guard hello.protocols.count == 1, hello.protocols[0].elementsEqual(Self.tlsProtocol.utf8),
            let name = hello.serverName
        else { return nil }
        return pending.withLock { $0.contexts[ExactText(name.asciiLowercased)] }
    }
}
