internal import ACME
internal import Admin
internal import Clocks
internal import Curl
internal import HTTPClient
internal import Listener
internal import Sealing
internal import Settings
internal import SettingsReader
internal import Store

/// The certificates that are obtained by ACME.
extension SnapshotMaker {
    /// Returns the ACME service after it has read the stored certificates, so that a start serves them at once.
    ///
    /// - Returns: nil if ACME is not configured.
    func certificateService(
        _ settings: GatewaySettings, _ store: (any StateStore)?, after previous: ConfigurationSnapshot?
    ) async throws -> CertificateService? {
        guard let acme = settings.acme else { return nil }
        let certificates = CertificateSettings(acme, settings)
        if let known = previous?.certificateService, known.settings == certificates, previous?.settings.acme == acme {
            return known
        }
        let fetcher = try await fetcher(
            plain: false, access: CurlAccess(certificateAuthorities: acme.authorities))
        let service = CertificateService(
            certificates, storage: try Self.storage(settings, store),
            fetcher: TracedFetcher(LoggedFetcher(fetcher, logger), name: "ACME", tracing: tracing), logger: logger,
            now: { WallClock.seconds() },
            canServe: { chain, key in
                let parameters = TLSParameters(certificates: [TLSCertificate(chain: chain, key: key)])
                return (try? ListenerTLS(parameters)) != nil
            }
        ) { [challenges] pending in
            challenges.set(
                responses: pending.filter { $0.type == .http }.map { ($0.token, $0.keyAuthorization) },
                certificates: pending.filter { $0.type == .tlsALPN }.compactMap { challenge in
                    challenge.certificate.map { (challenge.name, TLSCertificate(chain: $0.chain, key: $0.key)) }
                })
        }
        do {
            try await service.prepare(serving: previous?.certificateService?.certificates ?? [])
        } catch let error as SharedACMEError {
            throw SettingsErrors(errors: [settings.error(of: SharedACMEError.setting, error.description)])
        }
        return service
    }

    private static func storage(
        _ settings: GatewaySettings, _ store: (any StateStore)?
    ) throws -> any ACMEStorage {
        guard let state = settings.state?.postgres, let records = store?.acme else {
            return ACMEStateFile(stateDirectory: settings.stateDirectory)
        }
        let keys = try state.sealingKeys.map { try SealingKey(id: $0.id, $0.key) }
        return SharedACMEState(
            records, sealedWith: SealingKeyRing(sealing: keys[0], opening: Array(keys.dropFirst())))
    }
}

extension CertificateSettings {
    fileprivate init(_ acme: ACMESettings, _ settings: GatewaySettings) {
        var names: [String] = []
        for name in settings.listeners.compactMap(\.tls).flatMap(\.names) where !names.contains(name) {
            names.append(name)
        }
        let challenge: ACMEChallengeType =
            switch acme.challenge {
            case .http: .http
            case .tlsALPN: .tlsALPN
            }
        self.init(
            directory: acme.directory.description, contacts: acme.contacts, challenge: challenge, names: names)
    }
}
