internal import Listener
internal import Settings

extension Wiring {
    /// For each listener its TLS, or nil for a plain one.
    ///
    /// - Parameter known: what is in use; taken over where nothing has changed, so that clients' sessions go on.
    /// - Throws: ``SettingsFaults`` with every listener whose files cannot be used.
    static func tls(
        _ listeners: [ListenSettings], known: [(TLSParameters, ListenerTLS)] = []
    ) throws(SettingsFaults) -> [ListenerTLS?] {
        var made: [ListenerTLS?] = []
        var faults: [SettingsFault] = []
        for listener in listeners {
            do throws(TLSFault) {
                made.append(
                    try parameters(listener).map { (value) throws(TLSFault) -> ListenerTLS in
                        if let same = known.first(where: { $0.0 == value }) { return same.1 }
                        return try ListenerTLS(value)
                    })
            } catch {
                if let tls = listener.tls { faults.append(error.fault(of: tls)) }
            }
        }
        guard faults.isEmpty else { throw SettingsFaults(faults: faults) }
        return made
    }

    /// How a listener is to speak TLS; nil for a plain one.
    static func parameters(_ listener: ListenSettings) -> TLSParameters? {
        guard let tls = listener.tls else { return nil }
        return TLSParameters(
            certificates: tls.certificates.map { TLSCertificate(chain: $0.chain, key: $0.key) },
            minimumVersion: tls.minimumVersion == .tls13 ? .tls13 : .tls12, clientAuthorities: tls.clientAuthorities,
            offersHTTP2: listener.http2)
    }
}

extension TLSFault {
    /// The fault at the file's name in the settings.
    fileprivate func fault(of tls: TLSSettings) -> SettingsFault {
        switch self {
        case .malformedCertificate(let index):
            tls.certificates[index].chainPlace.fault("the file holds no certificate in PEM")
        case .malformedKey(let index):
            tls.certificates[index].keyPlace.fault("the file holds no private key in PEM without a passphrase")
        case .keyOfAnotherCertificate(let index):
            tls.certificates[index].keyPlace.fault("the key is not the certificate's")
        case .malformedClientAuthorities:
            tls.place.fault("the file holds no certificates in PEM")
        }
    }
}
