package import Cryptography
package import Pipeline
internal import SettingsReader

/// Where an issuer's addresses and claims follow from.
enum IssuerProfile: String, Sendable, CaseIterable {
    /// An Amazon Cognito user pool.
    case cognito
    /// `gatehouse local-pool` in the place of a user pool.
    case localPool = "local-pool"
    /// Sign in with Apple.
    case apple
    /// Any provider of OpenID Connect or OAuth 2.0.
    case oidc
    /// The gateway's own sessions.
    case gatehouse
}

/// An issuer whose tokens are accepted.
package struct IssuerSettings: Sendable {
    /// The rules for the tokens of each profile.
    package enum Rules: Sendable {
        case cognito(CognitoPoolSettings)
        /// App ids; at least one.
        case apple(audiences: [String])
        case openID(OpenIDRules)
        /// At least one.
        case gatehouse(audiences: [String])
    }

    /// How routes name it.
    package var name: String
    package var rules: Rules
    /// The `iss` that tokens must carry, byte for byte.
    package var issuer: String
    package var keySource: Issuer.KeySource
    /// Whether the key set may be fetched over http.
    package var allowsPlainText: Bool
    /// Whether the key set's host may have an address that only this machine or its network can reach.
    package var allowsPrivateAddresses: Bool
    /// The signature algorithms its tokens may have; at least one.
    package var algorithms: [SignatureAlgorithm]
    /// How far the clocks of issuer and gateway may be apart.
    var clockSkew: Duration

    /// The user pool, where it is one.
    package var pool: CognitoPoolSettings? { if case .cognito(let pool) = rules { pool } else { nil } }

    /// At least one.
    package var tokenUses: [TokenUse] {
        switch rules {
        case .cognito(let pool): pool.tokenUses
        case .apple: [.id]
        case .openID(let rules): rules.tokenUse == .id ? [.id] : [.access]
        case .gatehouse: [.session]
        }
    }

    /// Whether its tokens say who somebody is and give no access by themselves, so that a route must name it.
    var mustBeNamed: Bool {
        switch rules {
        case .cognito, .gatehouse: false
        case .apple: true
        case .openID(let rules): rules.tokenUse == .id
        }
    }
}

extension IssuerSettings {
    static func all(of entries: [(name: String, node: SettingsNode)]) -> [IssuerSettings] {
        var issuers: [IssuerSettings] = []
        for (name, node) in entries {
            guard let read = node.section({ Self(reading: $0, name: name) }), let issuer = read else { continue }
            // Whoever `iss` names has one set of keys, whatever is wanted of its tokens.
            if let other = issuers.first(where: { $0.issuer == issuer.issuer && $0.keySource != issuer.keySource }) {
                node.error("has the same issuer as issuers.\(other.name), but its keys from elsewhere")
            }
            issuers.append(issuer)
        }
        return issuers
    }

    private init?(reading keys: SettingsMapping, name: String) {
        let profile = keys.value("profile", .oneOf, default: IssuerProfile.cognito)
        let skew = keys.value(
            "clock_skew", .duration(.zero ... .seconds(Issuer.longestSkew)), default: .seconds(60))
        if profile == .localPool {
            guard let read = IssuerParts.localPool(keys) else { return nil }
            self.init(
                name: name, rules: read.rules, issuer: read.issuer, keySource: read.keySource, allowsPlainText: true,
                allowsPrivateAddresses: true, algorithms: read.algorithms, clockSkew: skew)
            return
        }
        let insecure = keys.value("allow_insecure_http", .boolean, default: false)
        let privately = keys.value("allow_private_addresses", .boolean, default: insecure)
        let reading = KeySourceReading(keys: keys, allowsPlainText: insecure)
        let read: IssuerParts? =
            switch profile {
            case .cognito, .localPool: .cognito(keys, reading)
            case .apple: .apple(keys, reading)
            case .oidc: .openID(keys, reading)
            case .gatehouse: .gatehouse(keys, reading)
            }
        guard let read else { return nil }
        self.init(
            name: name, rules: read.rules, issuer: read.issuer, keySource: read.keySource, allowsPlainText: insecure,
            allowsPrivateAddresses: privately, algorithms: read.algorithms, clockSkew: skew)
    }
}

/// The settings that each profile reads in its own way.
struct IssuerParts {
    let rules: IssuerSettings.Rules
    let issuer: String
    let keySource: Issuer.KeySource
    let algorithms: [SignatureAlgorithm]

    /// Nil when any part is, whose fault has been noted.
    init?(
        _ rules: IssuerSettings.Rules?, issuer: String?, _ keySource: Issuer.KeySource?,
        _ algorithms: [SignatureAlgorithm]
    ) {
        guard let rules, let issuer, let keySource else { return nil }
        self.rules = rules
        self.issuer = issuer
        self.keySource = keySource
        self.algorithms = algorithms
    }

    /// Apple signs with RS256, whatever its pages say.
    fileprivate static func apple(_ keys: SettingsMapping, _ reading: KeySourceReading) -> IssuerParts? {
        // Apple's own metadata has named another issuer than its tokens do: nothing is derived from it.
        let issuer = keys.value("issuer", .issuer, default: "https://appleid.apple.com")
        let keySet = ServiceURL(scheme: .https, host: "appleid.apple.com", port: 443, path: "/auth/keys")
        let audiences = audiences(of: keys, "app ids")
        return IssuerParts(
            .apple(audiences: audiences), issuer: issuer, reading.keySet(among: [.rs256], derived: keySet), [.rs256])
    }

    fileprivate static func gatehouse(_ keys: SettingsMapping, _ reading: KeySourceReading) -> IssuerParts? {
        let issuer = keys.required("issuer", .identifier)
        let audiences = audiences(of: keys, "audiences")
        return IssuerParts(
            .gatehouse(audiences: audiences), issuer: issuer, reading.ownOrGivenKeys(), [.es256])
    }

    static func audiences(of keys: SettingsMapping, _ kind: String) -> [String] {
        guard keys.required("audiences") != nil else { return [] }
        if keys.isEmptyList("audiences") { keys.error("audiences", "must name at least one") }
        return keys.list("audiences", .identifier, of: kind) ?? []
    }
}

extension ScalarFormat where Value == String {
    /// A URL, kept as it is written: `iss` is compared byte for byte.
    static var issuer: Self {
        Self(schema: .url, show: { $0 }) { (text) throws(ScalarRefusal) in
            _ = try ScalarFormat<ServiceURL>.url.read(text)
            return text
        }
    }
}
