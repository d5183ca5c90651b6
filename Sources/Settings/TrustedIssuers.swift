package import Pipeline

extension GatewaySettings {
    /// The issuers for token verification, in the order of the settings.
    package var trustedIssuers: [Issuer] {
        issuers.map { issuer in
            Issuer(
                name: issuer.name, issuer: issuer.issuer, profile: Issuer.Profile(issuer.rules),
                keySource: issuer.keySource,
                algorithms: issuer.algorithms, skew: issuer.clockSkew.components.seconds)
        }
    }

    /// The issuer of the gateway's own sessions; nil if the gateway manages none.
    package var sessionIssuer: Issuer? {
        guard let name = signIn.apple?.session?.issuer else { return nil }
        return trustedIssuers.first { $0.name == name }
    }

    /// Whether client requests write to the store. Without sign-ins only operators and notifications of providers
    /// revoke tokens, and requests are checked against the revocations in memory.
    package var needsStore: Bool { !signIn.pools.isEmpty || signIn.apple != nil || directCognito.mode == .translate }
}

extension Issuer.Profile {
    fileprivate init(_ rules: IssuerSettings.Rules) {
        self =
            switch rules {
            case .cognito(let pool):
                .cognito(clientIDs: Set(pool.clientIDs), tokenUses: Set(pool.tokenUses))
            case .apple(let audiences): .apple(audiences: Set(audiences))
            case .openID(let rules): .openID(rules)
            case .gatehouse(let audiences): .gatehouse(audiences: Set(audiences))
            }
    }
}
