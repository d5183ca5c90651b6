internal import Clocks
package import Cryptography
package import Encoding
internal import NIOCore
internal import NIOSSL

/// A certificate and its key, both in PEM.
package struct TLSCertificate: Sendable, Equatable {
    /// The server's certificate first, then those that lead to its root.
    package var chain: [UInt8]
    package var key: Secret
    /// The name, in lower case, that the gateway obtained it for; nil for one of a file.
    package var obtainedFor: ExactText?

    package init(chain: [UInt8], key: Secret, obtainedFor: ExactText? = nil) {
        self.chain = chain
        self.key = key
        self.obtainedFor = obtainedFor
    }
}

/// How a listener speaks TLS.
package struct TLSParameters: Sendable, Equatable {
    /// The oldest version that is spoken.
    package enum Version: Sendable { case tls12, tls13 }

    /// The first serves names that no other is for. Without any, each handshake fails.
    package var certificates: [TLSCertificate]
    /// Whether there may be none: they are obtained while the gateway runs.
    package var awaitsCertificates: Bool
    package var minimumVersion: Version
    /// The authorities, in PEM, one of which must have signed a client's certificate; nil: none is asked for.
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

/// Why TLS cannot be spoken with the files given. Numbers are positions in ``TLSParameters/certificates``.
package enum TLSError: Error, Equatable, Sendable {
    case malformedCertificate(Int)
    case malformedKey(Int)
    case keyOfAnotherCertificate(Int)
    case malformedClientAuthorities
}

/// Everything that keeps a listener from speaking TLS; never empty.
package struct TLSErrors: Error, Equatable, Sendable {
    package let errors: [TLSError]
}

/// A listener's TLS: what its connections are made with.
package final class ListenerTLS: Sendable {
    private let context: NIOSSLContext
    /// In the order of the parameters.
    package let certificates: [ServedCertificate]
    /// Whether no handshake succeeds without a client's certificate.
    let wantsCertificates: Bool

    /// - Throws: ``TLSErrors`` with all that is wrong.
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
                // Whether a key is its certificate's shows when a context is made of the two.
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

    /// RFC 9325 §4.2: forward secrecy and authenticated encryption only. TLS 1.3 has no others.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// How long a client that has been told the end may take to say the same. Nothing waits for its answer: a client that
    /// still sends is read from before the connection is closed; see ``Lingering``. The handler and its buffers, 50 KB,
    /// are kept for this time even where the client's connection goes at once.
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

    /// - Parameter identity: nil: there is nothing to show yet, which ends each handshake with an alert.
    private static func configuration(
        _ identity: TLSIdentity?, _ parameters: TLSParameters, _ authorities: [NIOSSLCertificate]?
    ) -> TLSConfiguration {
        // The one configuration that can be made without a certificate is that of clients.
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
            // A client has no host name to be verified.
            configuration.certificateVerification = .noHostnameVerification
            configuration.sendCANameList = true
        }
        return configuration
    }
}
