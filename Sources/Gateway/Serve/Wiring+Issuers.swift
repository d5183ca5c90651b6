internal import Cryptography
internal import Pipeline
internal import Settings

/// From settings to issuers and their key sets.
extension Wiring {
    static func issuers(_ settings: GatewaySettings) -> [Issuer] {
        settings.issuers.map { issuer in
            Issuer(
                name: issuer.name, issuer: issuer.issuer, profile: profile(issuer.rules), keySource: issuer.keySource,
                algorithms: issuer.algorithms, skew: issuer.clockSkew.components.seconds)
        }
    }

    private static func profile(_ rules: IssuerSettings.Rules) -> Issuer.Profile {
        switch rules {
        case .cognito(let pool):
            .cognito(clientIDs: Set(pool.clientIDs), tokenUses: Set(pool.tokenUses.map(\.tokenUse)))
        case .apple(let audiences): .apple(audiences: Set(audiences))
        case .openID(let rules): .openID(rules)
        case .gatehouse(let audiences): .gatehouse(audiences: Set(audiences))
        }
    }

    /// In the order of the issuers.
    static func keySetPolicies(_ settings: GatewaySettings) -> [KeySetService.Policy] {
        settings.issuers.map { issuer in
            let keySets = settings.keySets
            return KeySetService.Policy(
                minimumAge: keySets.minimumLifetime.components.seconds,
                maximumAge: keySets.maximumLifetime(of: issuer).components.seconds,
                unknownKeyInterval: keySets.unknownKeyInterval.components.seconds,
                staleLimit: keySets.staleLimit.components.seconds, timeout: keySets.timeout,
                maximumBytes: min(keySets.maximumBytes, KeySet.maximumBytes))
        }
    }

    /// The keys that the settings hold themselves; nil for an issuer whose keys are fetched, or the gateway's own.
    static func configuredKeySet(_ issuer: Issuer) throws -> KeySet? {
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

extension TokenUseSetting {
    var tokenUse: TokenUse {
        switch self {
        case .access: .access
        case .id: .id
        case .session: .session
        }
    }
}
