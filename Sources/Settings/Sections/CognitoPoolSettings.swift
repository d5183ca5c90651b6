internal import Cryptography
package import Pipeline
internal import SettingsReader

/// An Amazon Cognito user pool.
package struct CognitoPoolSettings: Sendable {
    /// AWS region of the pool, such as `us-east-1`.
    package var region: String
    package var userPoolID: String
    /// The app clients whose tokens are accepted; at least one.
    package var clientIDs: [String]
    /// At least one.
    package var tokenUses: [TokenUse]
    /// The URL of a pool of `gatehouse local-pool`, which is also its API; nil for Cognito.
    var localURL: ServiceURL?

    /// The default endpoint of Cognito's API.
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

    /// The pool's tokens, keys and operations are all below the URL.
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

    /// The URL of a path below an issuer; a trailing `/` of the issuer is not doubled (OpenID Connect Discovery 1.0,
    /// 4.1).
    static func derived(from issuer: String, _ path: String) -> ServiceURL? {
        guard let url = try? ScalarFormat.url.read(issuer) else { return nil }
        return ServiceURL(scheme: url.scheme, host: url.host, port: url.port, path: url.path + path)
    }
}

/// The endpoints of Cognito's API by region.
enum CognitoEndpoint {
    static func url(region: String) -> ServiceURL {
        let domain = AWSPartition.of(region: region).suffix
        return ServiceURL(scheme: .https, host: "cognito-idp.\(region).\(domain)", port: 443, path: "")
    }

    /// Whether a URL belongs to AWS: the region's endpoint, the FIPS 140 endpoint, or a VPC endpoint.
    static func isAWS(_ url: String, region: String) -> Bool {
        guard let url = try? ScalarFormat.url.read(url) else { return false }
        return url.host.hasSuffix("." + AWSPartition.of(region: region).suffix)
    }
}

extension ScalarFormat where Value == String {
    /// A pool id such as `us-east-1_AbCdEfGhI`, by Cognito's rule: `[\w-]+_[0-9a-zA-Z]+`, at most 55 characters.
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
