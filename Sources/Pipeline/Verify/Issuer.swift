package import Cryptography

/// An identity provider whose tokens are accepted.
package struct Issuer: Sendable, Equatable {
    /// The claims that an issuer's tokens must have, and their required values.
    package enum Profile: Sendable, Equatable {
        /// Amazon Cognito: `token_use`, and `client_id` (access) or `aud` (ID) naming one of the app clients.
        case cognito(clientIDs: Set<String>, tokenUses: Set<TokenUse>)
        /// Sign in with Apple: identity tokens whose `aud` is one of the apps.
        case apple(audiences: Set<String>)
        /// Any provider of OpenID Connect or OAuth 2.0.
        case openID(OpenIDRules)
        /// The sessions of this gateway, or of another one.
        case gatehouse(audiences: Set<String>)
    }

    /// The source of the keys. Only the configuration determines it, never a token.
    package enum KeySource: Sendable, Equatable {
        /// The JWK Set at this URL.
        case url(String)
        /// The JWK Set that the provider's metadata at this URL names (OpenID Connect Discovery 1.0, 4).
        case discovery(String)
        /// This JWK Set.
        case document([UInt8])
        /// A secret for HMAC, and the `kid` that tokens must have; nil: they must have none.
        case secret(Secret, keyID: String?)
        /// This gateway's own keys, which their creator supplies.
        case own

        /// The URL, or `settings` or `state_directory` if nothing is fetched.
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
    /// The tolerated error of the issuer's clock, in seconds.
    package var skew: Int64
    /// The longest ``skew`` that the configuration allows. Revocations are kept for this time after the `exp` of their
    /// tokens, because a reload may lengthen the skew.
    package static let longestSkew: Int64 = 600
    /// The time after its expiry for which a token is still accepted, in seconds. Nonzero only where the gateway's own
    /// endpoints read session tokens, as to refresh them.
    package var grace: Int64 = 0
    /// Whether a token may have been issued in the future, as the gateway's own tokens appear to be when its clock was
    /// set back. True only for the gateway's own endpoints, as ``grace``, and for calls to Cognito through the gateway.
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

    /// The `typ` headers that its tokens may have.
    package var types: TokenTypes {
        switch profile {
        case .cognito: .access
        case .apple: .plain
        case .openID(let rules): rules.types
        case .gatehouse: .session
        }
    }

    /// Whether its tokens name no key, because its only key is a secret without a `kid`.
    var hasNamelessKey: Bool { if case .secret(_, nil) = keySource { true } else { false } }
}

/// The rules for the tokens of a provider without a profile of its own.
package struct OpenIDRules: Sendable, Equatable {
    /// The accepted audiences; `aud` must contain one of them.
    package var audiences: Set<String>
    /// The use for which its tokens are accepted: as access tokens or as ID tokens.
    package var tokenUse: TokenUse
    package var types: TokenTypes
    /// The claims that are required in addition to `iss`, `sub`, `aud` and `exp`.
    package var requiredClaims: [String]
    /// The path of the user's groups, which are a list of texts.
    package var groupsClaim: ClaimPath

    /// - Parameter types: nil for the usual ones of the token use.
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
    /// A Cognito user pool. Region and pool determine `iss` and the key set's URL. Each can be overridden separately: a
    /// local pool has the `iss` of the real one but serves its keys elsewhere.
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
