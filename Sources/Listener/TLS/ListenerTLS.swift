internal import Clocks
package import Cryptography
package import Encoding
internal import NIOSSL
internal import TLS

/// A certificate and its key, both in PEM.
package struct TLSCertificate: Sendable, Equatable {
    /// The server's certificate first, then the intermediate certificates up to its root.
    package var chain: [UInt8]
    package var key: Secret
    /// The name, in lower case, for which the gateway obtained it; nil if it was read from a file.
    package var obtainedFor: ExactText?

    package init(chain: [UInt8], key: Secret, obtainedFor: ExactText? = nil) {
        self.chain = chain
        self.key = key
        self.obtainedFor = obtainedFor
    }
}

/// The TLS parameters of a listener.
package struct TLSParameters: Sendable, Equatable {
    /// The minimum version of TLS.
    package enum Version: Sendable { case tls12, tls13 }

    /// The certificates. The first one is the default for names without one of their own. If there are none, each
    /// handshake fails.
    package var certificates: [TLSCertificate]
    /// Whether `certificates` may be empty, because they are obtained while the gateway runs.
    package var awaitsCertificates: Bool
    package var minimumVersion: Version
    /// The certificate authorities for client certificates, in PEM; nil: no client certificate is requested.
    package var clientAuthorities: [UInt8]?
    /// Whether ALPN offers `h2` before `http/1.1`.
    package var offersHTTP2: Bool

    package init(
        certificates: [TLSCertificate], minimumVersion: Version = .tls12, clientAuthorities: [UInt8]? = nil,
        offersHTTP2: Bool = true, awaitsCertificates: Bool = false
    ) {
        self.certificates = certificates
        self.minimumVersion = minimumVersion
        self.clientAuthorities = clientAuthorities
        self.offersHTTP2 = offersHTTP2
        self.awaitsCertificates = awaitsCertificates
    }
}

/// An error in the given TLS files. Numbers are positions in ``TLSParameters/certificates``.
package enum TLSError: Error, Equatable, Sendable {
    case malformedCertificate(Int)
    case malformedKey(Int)
    case keyOfAnotherCertificate(Int)
    case malformedClientAuthorities
}

/// All errors in a listener's TLS parameters; never empty.
package struct TLSErrors: Error, Equatable, Sendable {
    package let errors: [TLSError]
}

/// A listener's TLS configuration, which creates the sessions of its connections.
package final class ListenerTLS: Sendable {
    private let context: TLSServerContext
    /// In the order of the parameters.
    package let certificates: [ServedCertificate]
    /// Whether handshakes require a client certificate.
    let wantsCertificates: Bool

    /// - Throws: ``TLSErrors`` with all errors in the parameters.
    package init(_ parameters: TLSParameters) throws(TLSErrors) {
        var errors: [TLSError] = []
        var identities: [TLSIdentity] = []
        var authorities: [[UInt8]]?
        if let pem = parameters.clientAuthorities {
            authorities = try? NIOSSLCertificate.fromPEMBytes(pem).map { try $0.toDERBytes() }
            if authorities?.isEmpty ?? true { errors.append(.malformedClientAuthorities) }
        }
        for (index, certificate) in parameters.certificates.enumerated() {
            do throws(TLSError) {
                let identity = try TLSIdentity(certificate, index: index)
                // Creating a context verifies that the key matches the certificate.
                _ = try Self.makeContext([identity], parameters, nil, index: index)
                identities.append(identity)
            } catch {
                errors.append(error)
            }
        }
        if parameters.certificates.isEmpty, !parameters.awaitsCertificates { errors.append(.malformedCertificate(0)) }
        guard errors.isEmpty else { throw TLSErrors(errors: errors) }
        certificates = identities.map(\.served)
        wantsCertificates = authorities != nil
        do throws(TLSError) {
            context = try Self.makeContext(identities, parameters, authorities, index: 0)
        } catch {
            throw TLSErrors(errors: [error])
        }
    }

    func makeSession() throws -> TLSServerSession { try TLSServerSession(context) }

    /// - Parameters:
    ///   - identities: the first one is the default; if there are none yet, each handshake ends with an alert.
    ///   - index: the position that errors name.
    private static func makeContext(
        _ identities: [TLSIdentity], _ parameters: TLSParameters, _ authorities: [[UInt8]]?, index: Int
    ) throws(TLSError) -> TLSServerContext {
        var configuration = TLSServerContext.Configuration()
        configuration.requiresTLS13 = parameters.minimumVersion == .tls13
        configuration.applicationProtocols = parameters.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        configuration.identity = identities.first?.identity
        configuration.clientAuthorities = authorities
        if identities.count > 1 {
            let names = ServerNames(identities)
            configuration.select = { names.identity(for: $0, now: WallClock.seconds())?.identity }
        }
        do {
            return try TLSServerContext(configuration)
        } catch {
            throw .keyOfAnotherCertificate(index)
        }
    }
}
