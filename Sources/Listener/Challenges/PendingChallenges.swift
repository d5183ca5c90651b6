internal import Encoding
internal import HTTPTypes
internal import Locking
internal import TLS

/// The pending ACME challenges, which listeners answer before any other processing: `http-01` with a text (RFC 8555,
/// 8.3), `tls-alpn-01` with a certificate in the handshake (RFC 8737).
///
/// A service writes them and event loops read them. Event loops take the lock for requests to the challenges' path, and
/// for each handshake at a listener with certificates from an ACME directory. Neither is frequent, and a handshake
/// takes a thousand times as long.
package final class PendingChallenges: Sendable {
    private struct Pending {
        /// By token.
        var responses: [ExactText: String] = [:]
        /// By server name.
        var contexts: [ExactText: TLSServerContext] = [:]
    }

    private static let path = "/.well-known/acme-challenge/"
    /// The ALPN protocol of a handshake that requests a challenge's certificate.
    static let tlsProtocol = "acme-tls/1"

    private let pending = Locked(Pending())

    package init() {}

    /// Replaces the pending challenges.
    ///
    /// - Parameter certificates: by server name in lower case; unusable certificates are skipped.
    package func set(
        responses: [(token: String, text: String)], certificates: [(name: String, certificate: TLSCertificate)] = []
    ) {
        var new = Pending()
        for (token, text) in responses { new.responses[ExactText(token)] = text }
        for (name, certificate) in certificates { new.contexts[ExactText(name)] = Self.context(certificate) }
        let made = new
        pending.withLock { $0 = made }
    }

    private static func context(_ certificate: TLSCertificate) -> TLSServerContext? {
        var configuration = TLSServerContext.Configuration()
        configuration.applicationProtocols = [tlsProtocol]
        configuration.identity = try? TLSIdentity(certificate, index: 0).identity
        return configuration.identity == nil ? nil : try? TLSServerContext(configuration)
    }

    /// Returns the response text; nil if the request is not for a pending challenge.
    func response(to head: HTTPRequest) -> String? {
        guard let path = head.path, path.begins(with: Self.path), head.method == .get else { return nil }
        let token = ExactText(String(Substring(path.utf8.dropFirst(Self.path.utf8.count))))
        return pending.withLock { $0.responses[token] }
    }

    /// Whether a handshake may be for a pending challenge.
    var awaitsHandshakes: Bool { pending.withLock { !$0.contexts.isEmpty } }

    /// Returns the TLS context for a handshake; nil if it is not for a pending challenge. A client that validates a
    /// challenge offers only its ALPN protocol (RFC 8737, 3).
    func context(for hello: ClientHello) -> TLSServerContext? {
        guard hello.protocols.count == 1, hello.protocols[0].elementsEqual(Self.tlsProtocol.utf8),
            let name = hello.serverName
        else { return nil }
        return pending.withLock { $0.contexts[ExactText(name.asciiLowercased)] }
    }
}
