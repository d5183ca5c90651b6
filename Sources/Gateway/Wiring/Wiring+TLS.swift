internal import ACME
internal import Encoding
internal import Listener
internal import Settings
internal import SettingsReader

extension Wiring {
    /// Returns the TLS context of each listener; nil for a listener without TLS.
    ///
    /// - Parameter known: the contexts in use. Unchanged ones are reused, so that clients can resume their TLS
    ///   sessions.
    /// - Throws: ``SettingsErrors`` with every file that the TLS library does not accept. Files that are not PEM, and
    ///   keys that do not match their certificates, are reported when the settings are read.
    static func tls(
        _ listeners: [ListenSettings], known: [(TLSParameters, ListenerTLS)] = [], obtained: [ObtainedCertificate]
    ) throws(SettingsErrors) -> [ListenerTLS?] {
        var made: [ListenerTLS?] = []
        var errors: [SettingsError] = []
        for listener in listeners {
            do throws(TLSErrors) {
                made.append(
                    try parameters(listener, obtained).map { (value) throws(TLSErrors) -> ListenerTLS in
                        if let same = known.first(where: { $0.0 == value }) { return same.1 }
                        return try ListenerTLS(value)
                    })
            } catch {
                if let tls = listener.tls { errors += error.errors.map { $0.error(of: tls) } }
            }
        }
        guard errors.isEmpty else { throw SettingsErrors(errors: errors) }
        return made
    }

    /// Returns the TLS parameters of a listener; nil for a listener without TLS.
    static func parameters(_ listener: ListenSettings, _ obtained: [ObtainedCertificate]) -> TLSParameters? {
        guard let tls = listener.tls else { return nil }
        let own = tls.names.compactMap { name in obtained.first { $0.name.hasSameBytes(as: name) } }
        return TLSParameters(
            certificates: tls.certificates.map { TLSCertificate(chain: $0.chain, key: $0.key) }
                + own.map { TLSCertificate(chain: $0.chain, key: $0.key, obtainedFor: ExactText($0.name)) },
            minimumVersion: tls.minimumVersion == .tls13 ? .tls13 : .tls12, clientAuthorities: tls.clientAuthorities,
            offersHTTP2: listener.http2, awaitsCertificates: !tls.names.isEmpty)
    }
}

extension TLSError {
    /// The settings error at the key path of the file.
    fileprivate func error(of tls: TLSSettings) -> SettingsError {
        switch self {
        case .malformedCertificate(let index), .malformedKey(let index), .keyOfAnotherCertificate(let index):
            if index >= tls.certificates.count {
                return tls.namesPlace.error("the obtained certificate of a name cannot be used")
            }
        case .malformedClientAuthorities: break
        }
        return switch self {
        case .malformedCertificate(let index):
            tls.certificates[index].chainPlace.error("the file holds no certificate that can be used")
        case .malformedKey(let index):
            tls.certificates[index].keyPlace.error("the file holds no private key that can be used")
        case .keyOfAnotherCertificate(let index):
            tls.certificates[index].keyPlace.error("the key and the certificate cannot be used together")
        case .malformedClientAuthorities:
            tls.place.error("the file holds no certificates that can be used")
        }
    }
}
