internal import Clocks
package import Cryptography
package import Encoding
internal import NIOCore
internal import NIOSSL

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

/// A listener's TLS configuration, which creates the handlers of its connections.
package final class ListenerTLS: Sendable {
    private let context: NIOSSLContext
    /// In the order of the parameters.
    package let certificates: [ServedCertificate]
    /// Whether handshakes require a client certificate.
    let wantsCertificates: Bool

    /// - Throws: ``TLSErrors`` with all errors in the parameters.
    package init(_ parameters: TLSParameters) throws(TLSErrors) {
        var errors: [TLSError] = []
        var identities: [TLSIdentity] = []
        var authorities: [NIOSSLCertificate]?
        if let pem = parameters.clientAuthorities {
            authorities = try? NIOSSLCertificate.fromPEMBytes(pem)
            if authorities?.isEmpty ?? true { errors.append(.malformedClientAuthorities) }
        }
        for (index, certificate) in parameters.certificates.enumerated() {
            do throws(TLSError) {
                let identity = try TLSIdentity(certificate, index: index)
                // Creating a context verifies that the key matches the certificate.
                _ = try Self.makeContext(Self.configuration(identity, parameters, nil), index: index)
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
            context = try Self.makeContext(identities.first, beside: identities, parameters, authorities)
        } catch {
            throw TLSErrors(errors: [error])
        }
    }

    func makeHandler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(context: context)
    }

    // MARK: Contexts

    /// RFC 9325 §4.2: only forward secrecy and authenticated encryption. TLS 1.3 has no other cipher suites.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// The time that a client has to answer close_notify. Nothing depends on the answer: a client that still sends is
    /// read from before the connection is closed; see ``Lingering``. The handler and its buffers, 50 KB, are retained
    /// for this time even if the client disconnects at once.
    static let shutdownTimeout = TimeAmount.milliseconds(100)

    private static func makeContext(
        _ first: TLSIdentity?, beside identities: [TLSIdentity], _ parameters: TLSParameters,
        _ authorities: [NIOSSLCertificate]?
    ) throws(TLSError) -> NIOSSLContext {
        var configuration = configuration(first, parameters, authorities)
        if identities.count > 1 {
            let names = ServerNames(identities)
            configuration.sslContextCallback = { client, promise in
                let identity = names.identity(for: client.serverHostname, now: WallClock.seconds())
                promise.succeed(identity?.override ?? .noChanges)
            }
        }
        return try makeContext(configuration, index: 0)
    }

    private static func makeContext(_ configuration: TLSConfiguration, index: Int) throws(TLSError) -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw .keyOfAnotherCertificate(index)
        }
    }

    /// - Parameter identity: the certificate and key; nil: there are none yet, and each handshake ends with an alert.
    private static func configuration(
        _ identity: TLSIdentity?, _ parameters: TLSParameters, _ authorities: [NIOSSLCertificate]?
    ) -> TLSConfiguration {
        // Only a client configuration can be created without a certificate.
        var configuration =
            identity.map { .makeServerConfiguration(certificateChain: $0.chain, privateKey: $0.key) }
            ?? TLSConfiguration.makeClientConfiguration()
        if identity == nil { configuration.certificateVerification = .none }
        configuration.minimumTLSVersion = parameters.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        configuration.cipherSuiteValues = cipherSuites
        configuration.shutdownTimeout = shutdownTimeout
        configuration.applicationProtocols = parameters.offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        if let authorities {
            configuration.trustRoots = .certificates(authorities)
            // Clients have no host name to verify.
            configuration.certificateVerification = .noHostnameVerification
            configuration.sendCANameList = true
        }
        return configuration
    }
}
