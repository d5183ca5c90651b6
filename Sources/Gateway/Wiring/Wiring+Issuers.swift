internal import Cryptography
package import Keys
package import Pipeline
package import Settings

/// Creates issuers and their key sets from settings.
extension Wiring {
    /// Returns the key set policies in the order of the issuers.
    package static func keySetPolicies(_ settings: GatewaySettings) -> [KeySetService.Policy] {
        settings.issuers.map { issuer in
            let keySets = settings.keySets
            return KeySetService.Policy(
                minimumAge: keySets.minimumLifetime.components.seconds,
                maximumAge: keySets.maximumLifetime(of: issuer).components.seconds,
                unknownKeyInterval: keySets.unknownKeyInterval.components.seconds,
                staleLimit: keySets.staleLimit.components.seconds, timeout: keySets.timeout,
                maximumBytes: keySets.maximumBytes)
        }
    }

    /// Returns the keys that the settings contain; nil for an issuer whose keys are fetched or are the gateway's own.
    package static func configuredKeySet(_ issuer: Issuer) throws -> KeySet? {
        switch issuer.keySource {
        case .url, .discovery, .own:
            return nil
        case .document(let document):
            return try KeySet(jwks: document, algorithms: issuer.algorithms, generation: KeySetGeneration.next())
        case .secret(let secret, let keyID):
            guard let algorithm = issuer.algorithms.first else { return nil }
            return try KeySet(
                secret: secret, keyID: keyID ?? "", algorithm: algorithm, generation: KeySetGeneration.next())
        }
    }
}
