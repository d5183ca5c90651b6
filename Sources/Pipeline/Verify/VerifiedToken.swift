package import Cryptography
package import Encoding

/// A token whose signature and claims were all found right.
package struct VerifiedToken: Sendable {
    /// The `iss` claim.
    package var issuer: String
    /// The name the issuer goes by in the configuration.
    package var issuerName: String
    /// The `sub` claim: 1 to 255 bytes, any characters.
    package var subject: String
    package var tokenUse: TokenUse
    /// The app client: `client_id` of an access token, the matching `aud` of an ID token.
    package var clientID: String
    package var username: String?
    package var email: String?
    package var emailVerified: Bool?
    package var groups: [String]
    package var scopes: [String]
    /// `exp` and `iat` in seconds since 1970.
    package var expires: Int64
    package var issuedAt: Int64?
    /// The whole payload.
    package var claims: JSONObject
    package var keyID: String
    /// How it was verified. Nil for a token that ``TokenVerifier`` did not make; such a one is never cached.
    package internal(set) var proof: TokenProof?

    package init(
        issuer: String, issuerName: String, subject: String, tokenUse: TokenUse, clientID: String,
        username: String? = nil, email: String? = nil, emailVerified: Bool? = nil, groups: [String] = [],
        scopes: [String] = [], expires: Int64, issuedAt: Int64? = nil, claims: JSONObject = [:], keyID: String
    ) {
        self.issuer = issuer
        self.issuerName = issuerName
        self.subject = subject
        self.tokenUse = tokenUse
        self.clientID = clientID
        self.username = username
        self.email = email
        self.emailVerified = emailVerified
        self.groups = groups
        self.scopes = scopes
        self.expires = expires
        self.issuedAt = issuedAt
        self.claims = claims
        self.keyID = keyID
    }
}

/// With what, and until when, a token is verified.
package struct TokenProof: Sendable {
    /// The issuer's place in ``TokenVerifier/issuers``.
    package let issuerIndex: Int
    /// The key that signed it, and the generation of the key set it came from.
    package let key: VerificationKey
    package let generation: UInt64
    /// The first second at which it is not valid any more: `exp` and the skew.
    package let endsAt: Int64
}

/// Which verified tokens a route takes.
package struct TokenAcceptance: Sendable, Equatable {
    /// The configured names of the issuers; nil for every one.
    package let issuers: Set<String>?
    package let tokenUses: Set<TokenUse>
    /// The same as one bit each: every request asks.
    private let useBits: UInt8

    package init(issuers: Set<String>? = nil, tokenUses: Set<TokenUse>) {
        self.issuers = issuers
        self.tokenUses = tokenUses
        self.useBits = tokenUses.reduce(0) { $0 | $1.bit }
    }

    func accepts(_ use: TokenUse) -> Bool { useBits & use.bit != 0 }

    func accepts(issuerNamed name: String) -> Bool {
        issuers?.contains(name) ?? true
    }

    /// Why a token that is right in itself is not accepted here.
    package func rejection(issuerName: String, use: TokenUse) -> RejectReason? {
        guard accepts(issuerNamed: issuerName) else { return .issuerNotAccepted }
        return accepts(use) ? nil : .tokenUseNotAccepted
    }
}
