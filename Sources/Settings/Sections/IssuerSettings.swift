package import Cryptography
package import Pipeline
internal import SettingsReader

/// The profile from which an issuer's URLs and claims follow.
enum IssuerProfile: String, Sendable, CaseIterable {
    /// An Amazon Cognito user pool.
    case cognito
    /// A pool of `gatehouse local-pool` in place of a Cognito user pool.
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
        /// The app ids; at least one.
        case apple(audiences: [String])
        case openID(OpenIDRules)
        /// At least one.
        case gatehouse(audiences: [String])
    }

    /// The name that routes refer to.
    package var name: String
    package var rules: Rules
    /// The `iss` that tokens must carry, byte for byte.
    package var issuer: String
    package var keySource: Issuer.KeySource
    /// Whether the key set may be fetched over http.
    package var allowsPlainText: Bool
    /// Whether the key set's host may have a loopback or private address.
    package var allowsPrivateAddresses: Bool
    /// The signature algorithms its tokens may have; at least one.
    package var algorithms: [SignatureAlgorithm]
    /// The tolerated difference between the clocks of issuer and gateway.
    var clockSkew: Duration

    /// The user pool; nil for other profiles.
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

    /// Whether the tokens only identify a user and grant no access by default, so that routes must name the issuer.
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
            // An issuer (`iss`) has only one set of keys, whatever rules its tokens are verified by.
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

/// The settings that each profile reads differently.
struct IssuerParts {
    let rules: IssuerSettings.Rules
    let issuer: String
    let keySource: Issuer.KeySource
    let algorithms: [SignatureAlgorithm]

    /// Nil if any part is missing, whose error has been recorded.
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

    /// Apple signs with RS256, whatever its documentation says.
    fileprivate static func apple(_ keys: SettingsMapping, _ reading: KeySourceReading) -> IssuerParts? {
        // Nothing is derived from Apple's metadata, which has named another issuer than its tokens.
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
    /// A URL in its original spelling: `iss` is compared byte by byte.
    static var issuer: Self {
        Self(schema: .url, show: { $0 }) { (text) throws(ScalarRefusal) in
            _ = try ScalarFormat<ServiceURL>.url.read(text)
            return text
        }
    }
}
