internal import Cryptography
package import Pipeline
internal import SettingsReader

/// An Amazon Cognito user pool.
package struct CognitoPoolSettings: Sendable {
    /// AWS region of the pool, such as `us-east-1`.
    package var region: String
    package var userPoolID: String
    /// App clients whose tokens are accepted; at least one.
    package var clientIDs: [String]
    /// At least one.
    package var tokenUses: [TokenUse]
    /// Where a pool of `gatehouse local-pool` is, which is Cognito's API as well; nil for Cognito itself.
    var localURL: ServiceURL?

    /// Cognito's API, where nothing else is said.
    var endpoint: ServiceURL { localURL ?? CognitoEndpoint.url(region: region) }
}

extension IssuerParts {
    static func cognito(_ keys: SettingsMapping, _ reading: KeySourceReading) -> IssuerParts? {
        let pool = keys.required("user_pool_id", .userPoolID)
        let region = keys.value("region", .awsRegion) ?? pool.map { String($0.prefix { $0 != "_" }) }
        let givenIssuer = keys.value("issuer", .issuer)
        if let region, let pool, givenIssuer == nil, !pool.hasPrefix(region + "_") {
            keys.error("region", "the pool's id says that it is in another region")
        }
        let clientIDs = clientIDs(of: keys)
        let tokenUses = tokenUses(of: keys)
        let algorithms = keys.algorithms(default: [.rs256])
        let poolIssuer = region.flatMap { region in pool.map { "\(CognitoEndpoint.url(region: region))/\($0)" } }
        let issuer = givenIssuer ?? poolIssuer
        let source = reading.keySet(
            among: algorithms, derived: issuer.flatMap { derived(from: $0, "/.well-known/jwks.json") })
        guard let pool, let region else { return nil }
        let settings = CognitoPoolSettings(
            region: region, userPoolID: pool, clientIDs: clientIDs, tokenUses: tokenUses)
        if !keys.has("issuer"), case .url(let url) = source, !CognitoEndpoint.isAWS(url, region: region) {
            let message = "needs issuer beside it: the tokens of a pool that is not at AWS have another iss than"
            keys.error("jwks_url", "\(message) \(issuer ?? "AWS's")")
        }
        return IssuerParts(.cognito(settings), issuer: issuer, source, algorithms)
    }

    /// Everything follows from the URL: the pool's tokens, keys and operations are all there.
    static func localPool(_ keys: SettingsMapping) -> IssuerParts? {
        let url = keys.required("url", .url)
        let pool = keys.required("user_pool_id", .userPoolID)
        let (clientIDs, tokenUses) = (clientIDs(of: keys), tokenUses(of: keys))
        guard let url, let pool else { return nil }
        var settings = CognitoPoolSettings(
            region: String(pool.prefix { $0 != "_" }), userPoolID: pool, clientIDs: clientIDs, tokenUses: tokenUses)
        settings.localURL = url
        let issuer = "\(url)/\(pool)"
        return IssuerParts(.cognito(settings), issuer: issuer, .url("\(issuer)/.well-known/jwks.json"), [.rs256])
    }

    private static func tokenUses(of keys: SettingsMapping) -> [TokenUse] {
        let words = ScalarFormat.word(among: [TokenUse.access, .id].map(\.rawValue))
        if keys.isEmptyList("token_uses") { keys.error("token_uses", "must name at least one") }
        return keys.list("token_uses", words, of: "token uses")?.compactMap(TokenUse.init) ?? [.access]
    }

    private static func clientIDs(of keys: SettingsMapping) -> [String] {
        guard keys.required("client_ids") != nil else { return [] }
        if keys.isEmptyList("client_ids") { keys.error("client_ids", "must name at least one app client") }
        return keys.list("client_ids", .identifier, of: "app client ids") ?? []
    }

    /// The URL of this path below an issuer; a `/` at the issuer's end is not doubled (OpenID Connect Discovery 1.0,
    /// 4.1).
    static func derived(from issuer: String, _ path: String) -> ServiceURL? {
        guard let url = try? ScalarFormat.url.read(issuer) else { return nil }
        return ServiceURL(scheme: url.scheme, host: url.host, port: url.port, path: url.path + path)
    }
}

/// Where Cognito's API is, by region.
enum CognitoEndpoint {
    static func url(region: String) -> ServiceURL {
        let domain = AWSPartition.of(region: region).suffix
        return ServiceURL(scheme: .https, host: "cognito-idp.\(region).\(domain)", port: 443, path: "")
    }

    /// Whether a service behind this URL is AWS's, as the region's own, the one for FIPS 140 and those of a VPC are.
    static func isAWS(_ url: String, region: String) -> Bool {
        guard let url = try? ScalarFormat.url.read(url) else { return false }
        return url.host.hasSuffix("." + AWSPartition.of(region: region).suffix)
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
}
