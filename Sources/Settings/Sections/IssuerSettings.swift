package import Cryptography

/// Where an issuer's addresses and claims follow from.
package enum IssuerProfile: String, Sendable, CaseIterable {
    /// An Amazon Cognito user pool.
    case cognito
}

/// The `token_use` claim of Cognito's tokens.
package enum TokenUseSetting: String, Sendable, CaseIterable {
    case access
    case id
}

/// Whose tokens are accepted.
package struct IssuerSettings: Sendable {
    /// How routes name it.
    package var name: String
    package var profile: IssuerProfile
    /// AWS region of the pool, such as `us-east-1`.
    package var region: String
    package var userPoolID: String
    /// App clients whose tokens are accepted; at least one.
    package var clientIDs: [String]
    /// At least one.
    package var tokenUses: [TokenUseSetting]
    /// The `iss` that tokens must carry, byte for byte. Follows from region and pool unless it is given.
    package var issuer: String
    /// Where the key set is fetched. Follows from the issuer unless it is given.
    package var jwksURL: ServiceURL
    /// Whether the key set's host may have an address that only this machine or its network can reach.
    package var allowsPrivateAddresses: Bool
    /// The signature algorithms its tokens may have; at least one.
    package var algorithms: [SignatureAlgorithm]
    /// How far the clocks of issuer and gateway may be apart.
    package var clockSkew: Duration
}

extension IssuerSettings {
    static func all(of entries: [(name: String, node: SettingsNode)]) -> [IssuerSettings] {
        var issuers: [IssuerSettings] = []
        for (name, node) in entries {
            guard let read = node.section({ Self(reading: $0, name: name) }), let issuer = read else { continue }
            // A token's `iss` must lead to one set of rules.
            if let other = issuers.first(where: { $0.issuer == issuer.issuer }) {
                node.fault("has the same issuer as issuers.\(other.name)")
            }
            issuers.append(issuer)
        }
        return issuers
    }

    private init?(reading keys: SettingsMapping, name: String) {
        let profile = keys.value("profile", .oneOf, default: IssuerProfile.cognito)
        let pool = keys.required("user_pool_id", .userPoolID)
        let region = keys.value("region", .awsRegion) ?? pool.map { String($0.prefix { $0 != "_" }) }
        let givenIssuer = keys.value("issuer", .issuer)
        if let region, let pool, givenIssuer == nil, !pool.hasPrefix(region + "_") {
            keys.fault("region", "the pool's id says that it is in another region")
        }
        let clientIDs = Self.clientIDs(of: keys)
        let tokenUses = keys.list("token_uses", ScalarFormat<TokenUseSetting>.oneOf, of: "token uses") ?? [.access]
        if keys.isEmptyList("token_uses") { keys.fault("token_uses", "must name at least one") }
        let skew = keys.value("clock_skew", .duration(.zero ... .seconds(600)), default: .seconds(60))
        let algorithms = keys.list("algorithms", .publicKeyAlgorithm, of: "signature algorithms") ?? [.rs256]
        if keys.isEmptyList("algorithms") { keys.fault("algorithms", "must name at least one") }
        let insecure = keys.value("allow_insecure_http", .boolean, default: false)
        let privately = keys.value("allow_private_addresses", .boolean, default: insecure)
        let poolIssuer = region.flatMap { region in pool.map { "\(CognitoEndpoint.url(region: region))/\($0)" } }
        let issuer = givenIssuer ?? poolIssuer
        let jwksURL = Self.jwksURL(of: keys, issuer: issuer, insecure: insecure)
        guard let pool, let region, let issuer, let jwksURL else { return nil }
        self.init(
            name: name, profile: profile, region: region, userPoolID: pool, clientIDs: clientIDs,
            tokenUses: tokenUses, issuer: issuer, jwksURL: jwksURL, allowsPrivateAddresses: privately,
            algorithms: algorithms, clockSkew: skew)
    }

    /// The URL given, or the one that belongs to the issuer.
    private static func jwksURL(of keys: SettingsMapping, issuer: String?, insecure: Bool) -> ServiceURL? {
        let given = keys.optional("jwks_url")
        let url = given.map { $0.read(.url) } ?? issuer.flatMap(derivedJWKS)
        if let url, url.isPlain, !insecure {
            keys.fault(
                given == nil ? "issuer" : "jwks_url",
                "key sets are fetched over https only, unless allow_insecure_http is true")
        }
        return url
    }

    private static func clientIDs(of keys: SettingsMapping) -> [String] {
        guard keys.required("client_ids") != nil else { return [] }
        if keys.isEmptyList("client_ids") { keys.fault("client_ids", "must name at least one app client") }
        return keys.list("client_ids", .identifier, of: "app client ids") ?? []
    }

    private static func derivedJWKS(_ issuer: String) -> ServiceURL? {
        guard let url = try? ScalarFormat.url.read(issuer) else { return nil }
        return ServiceURL(
            scheme: url.scheme, host: url.host, port: url.port, path: url.path + "/.well-known/jwks.json")
    }
}

/// Where Cognito's API is, by region.
enum CognitoEndpoint {
    static func url(region: String) -> ServiceURL {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        return ServiceURL(scheme: .https, host: "cognito-idp.\(region).\(domain)", port: 443, path: "")
    }
}

extension ScalarFormat where Value == SignatureAlgorithm {
    /// Those of public keys: a key set that anybody can read holds no secret.
    fileprivate static var publicKeyAlgorithm: Self {
        let names = SignatureAlgorithm.allCases.filter { $0.keyType != .secret }.map(\.rawValue)
        let words = ScalarFormat<String>.word(among: names)
        return Self { (text) throws(ScalarRefusal) in
            guard let value = SignatureAlgorithm(rawValue: try words.read(text)) else {
                throw ScalarRefusal("is not known")
            }
            return value
        }
    }
}

extension ScalarFormat where Value == String {
    /// `us-east-1_AbCdEfGhI`: Cognito's own rule, `[\w-]+_[0-9a-zA-Z]+`, at most 55 characters.
    fileprivate static var userPoolID: Self {
        Self { (text) throws(ScalarRefusal) in
            let parts = text.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 55,
                parts[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }),
                parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
            else { throw ScalarRefusal("must be a user pool's id like us-east-1_AbCdEfGhI") }
            return text
        }
    }

    fileprivate static var awsRegion: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...32).contains(text.utf8.count), text.first?.isLetter == true,
                text.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") })
            else { throw ScalarRefusal("must be an AWS region like us-east-1") }
            return text
        }
    }

    /// A URL, kept as it is written: `iss` is compared byte for byte.
    fileprivate static var issuer: Self {
        Self { (text) throws(ScalarRefusal) in
            _ = try ScalarFormat<ServiceURL>.url.read(text)
            return text
        }
    }
}
