package import Cryptography

/// One identity provider whose tokens are accepted.
package struct Issuer: Sendable, Equatable {
    /// Which claims an issuer's tokens have and what they must say.
    package enum Profile: Sendable, Equatable {
        /// Amazon Cognito: `token_use`, and `client_id` (access) or `aud` (ID) naming one of the app clients.
        case cognito(clientIDs: Set<String>, tokenUses: Set<TokenUse>)
    }

    /// The name in the configuration, which routes refer to.
    package var name: String
    /// What `iss` must be, byte for byte.
    package var issuer: String
    package var profile: Profile
    /// Where the key set is fetched. Only configuration sets it; nothing in a token does.
    package var jwksURL: String
    package var algorithms: [SignatureAlgorithm]
    /// How far the issuer's clock may be off, in seconds.
    package var skew: Int64

    package init(
        name: String, issuer: String, profile: Profile, jwksURL: String,
        algorithms: [SignatureAlgorithm] = [.rs256], skew: Int64 = 60
    ) {
        self.name = name
        self.issuer = issuer
        self.profile = profile
        self.jwksURL = jwksURL
        self.algorithms = algorithms
        self.skew = skew
    }

    /// A Cognito user pool. `iss` and the key set's URL follow from region and pool, and can be given instead, each by
    /// itself: a local pool signs as the real one but serves its keys elsewhere.
    package static func cognito(
        name: String, region: String, userPoolID: String, clientIDs: Set<String>,
        tokenUses: Set<TokenUse> = [.access, .id], issuer: String? = nil, jwksURL: String? = nil
    ) -> Issuer {
        // China has its own partition.
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let issuer = issuer ?? "https://cognito-idp.\(region).\(domain)/\(userPoolID)"
        return Issuer(
            name: name, issuer: issuer, profile: .cognito(clientIDs: clientIDs, tokenUses: tokenUses),
            jwksURL: jwksURL ?? "\(issuer)/.well-known/jwks.json")
    }
}
