package import Cryptography

/// One identity provider whose tokens are accepted.
package struct Issuer: Sendable, Equatable {
    /// Which claims an issuer's tokens have and what they must say.
    package enum Profile: Sendable, Equatable {
        /// Amazon Cognito: `token_use`, and `client_id` (access) or `aud` (ID) naming one of the app clients.
        case cognito(clientIDs: Set<String>, tokenUses: Set<TokenUse>)
        /// Sign in with Apple: identity tokens whose `aud` is one of the apps.
        case apple(audiences: Set<String>)
        /// Any provider of OpenID Connect or OAuth 2.0.
        case openID(OpenIDRules)
        /// This gateway's own sessions, or those of another one.
        case gatehouse(audiences: Set<String>)
    }

    /// Where the keys come from. Only configuration says so; nothing in a token does.
    package enum KeySource: Sendable, Equatable {
        /// A JWK Set behind this URL.
        case url(String)
        /// The JWK Set that the provider's metadata behind this URL names (OpenID Connect Discovery 1.0, 4).
        case discovery(String)
        /// This JWK Set.
        case document([UInt8])
        /// A secret for HMAC, and the `kid` that tokens must have; nil: they must have none.
        case secret(Secret, keyID: String?)
        /// This gateway's own keys, which the one who makes them hands over.
        case own

        /// The URL, or `settings` or `state_directory` where nothing is fetched.
        package var place: String {
            switch self {
            case .url(let url), .discovery(let url): url
            case .document, .secret: "settings"
            case .own: "state_directory"
            }
        }
    }

    /// The name in the configuration, which routes refer to.
    package var name: String
    /// The required `iss`, compared byte for byte.
    package var issuer: String
    package var profile: Profile
    package var keySource: KeySource
    package var algorithms: [SignatureAlgorithm]
    /// How far the issuer's clock may be off, in seconds.
    package var skew: Int64
    /// The longest ``skew`` that the configuration allows. Revocations outlast the `exp` of their tokens by it, because a
    /// reload may lengthen the skew.
    package static let longestSkew: Int64 = 600
    /// For how many seconds after its end a token is still taken: for who may exchange it for another one, and for
    /// nobody else.
    package var grace: Int64 = 0
    /// Whether a token may have been issued in the future. This gateway's own seem to be when its clock was set back:
    /// for who may exchange them, as ``grace``.
    package var allowsFutureIssue = false

    package init(
        name: String, issuer: String, profile: Profile, keySource: KeySource,
        algorithms: [SignatureAlgorithm] = [.rs256], skew: Int64 = 60
    ) {
        self.name = name
        self.issuer = issuer
        self.profile = profile
        self.keySource = keySource
        self.algorithms = algorithms
        self.skew = skew
    }

    /// Which `typ` its tokens may have.
    package var types: TokenTypes {
        switch profile {
        case .cognito: .access
        case .apple: .plain
        case .openID(let rules): rules.types
        case .gatehouse: .session
        }
    }

    /// Whether its tokens name no key because it has only one, which is a secret without a name.
    var hasNamelessKey: Bool { if case .secret(_, nil) = keySource { true } else { false } }
}

/// Rules for a provider's tokens where it has no profile of its own.
package struct OpenIDRules: Sendable, Equatable {
    /// One of them must be in `aud`.
    package var audiences: Set<String>
    /// The use that its tokens are accepted for: as access tokens or as ID tokens.
    package var tokenUse: TokenUse
    package var types: TokenTypes
    /// Claims that must be there, besides `iss`, `sub`, `aud` and `exp`.
    package var requiredClaims: [String]
    /// Where the user's groups are: a list of texts.
    package var groupsClaim: ClaimPath

    /// - Parameter types: nil for those usual for the kind of token.
    package init(
        audiences: Set<String>, tokenUse: TokenUse = .access, types: TokenTypes? = nil, requiredClaims: [String] = [],
        groupsClaim: ClaimPath = ClaimPath(["groups"])
    ) {
        self.audiences = audiences
        self.tokenUse = tokenUse
        self.types = types ?? (tokenUse == .access ? .access : .plain)
        self.requiredClaims = requiredClaims
        self.groupsClaim = groupsClaim
    }
}

extension Issuer {
    /// A Cognito user pool. `iss` and the key set's URL follow from region and pool, and can be given instead, each by
    /// itself: a local pool signs as the real one but serves its keys elsewhere.
    package static func cognito(
        name: String, region: String, userPoolID: String, clientIDs: Set<String>,
        tokenUses: Set<TokenUse> = [.access, .id], issuer: String? = nil, jwksURL: String? = nil
    ) -> Issuer {
        let domain = AWSPartition.of(region: region).suffix
        let issuer = issuer ?? "https://cognito-idp.\(region).\(domain)/\(userPoolID)"
        return Issuer(
            name: name, issuer: issuer, profile: .cognito(clientIDs: clientIDs, tokenUses: tokenUses),
            keySource: .url(jwksURL ?? "\(issuer)/.well-known/jwks.json"))
    }
}
