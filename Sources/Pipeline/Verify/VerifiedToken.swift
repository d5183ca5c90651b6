package import Cryptography
package import Encoding

/// A token with a valid signature and valid claims.
///
/// A copy is one reference. Groups, scopes and names are read from the claims on access, because most requests do not
/// need them.
package struct VerifiedToken: Sendable {
    private var contents: Contents

    private final class Contents: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private struct Values: Sendable {
        var issuer: String
        var issuerName: String
        var subject: String
        var tokenUse: TokenUse
        var clientID: String
        var expires: Int64
        var issuedAt: Int64?
        var claims: JSONObject
        var keyID: String
        var user: User
        var proof: TokenProof?
    }

    /// The user and their rights.
    private enum User: Sendable {
        case claimed(UserClaims)
        case stated(StatedUser)
    }

    private struct StatedUser: Sendable {
        var username: String?
        var email: String?
        var emailVerified: Bool?
        var groups: [String]
        var scopes: [String]
    }

    package init(
        issuer: String, issuerName: String, subject: String, tokenUse: TokenUse, clientID: String,
        username: String? = nil, email: String? = nil, emailVerified: Bool? = nil, groups: [String] = [],
        scopes: [String] = [], expires: Int64, issuedAt: Int64? = nil, claims: JSONObject = [:], keyID: String
    ) {
        let user = StatedUser(
            username: username, email: email, emailVerified: emailVerified, groups: groups, scopes: scopes)
        contents = Contents(
            Values(
                issuer: issuer, issuerName: issuerName, subject: subject, tokenUse: tokenUse, clientID: clientID,
                expires: expires, issuedAt: issuedAt, claims: claims, keyID: keyID, user: .stated(user), proof: nil))
    }

    /// A token that ``TokenVerifier`` has verified.
    ///
    /// - Parameter user: the claims that identify the user.
    init(
        of issuer: Issuer, subject: String, tokenUse: TokenUse, clientID: String, user: UserClaims, expires: Int64,
        issuedAt: Int64?, claims: JSONObject, keyID: String, proof: TokenProof
    ) {
        contents = Contents(
            Values(
                issuer: issuer.issuer, issuerName: issuer.name, subject: subject, tokenUse: tokenUse,
                clientID: clientID, expires: expires, issuedAt: issuedAt, claims: claims, keyID: keyID,
                user: .claimed(user), proof: proof))
    }

    /// The `iss` claim.
    package var issuer: String { contents.values.issuer }
    /// The issuer's name in the configuration.
    package var issuerName: String { contents.values.issuerName }
    /// The `sub` claim: 1 to 255 bytes, any characters.
    package var subject: String { contents.values.subject }
    package var tokenUse: TokenUse { contents.values.tokenUse }
    /// The app client: `client_id` of an access token, the matching `aud` of an ID token.
    package var clientID: String { contents.values.clientID }
    /// `exp` and `iat` in seconds since 1970.
    package var expires: Int64 { contents.values.expires }
    package var issuedAt: Int64? {
        get { contents.values.issuedAt }
        set { change { $0.issuedAt = newValue } }
    }
    package var keyID: String { contents.values.keyID }
    /// The evidence of its verification. Nil for a token that ``TokenVerifier`` did not make; such a token is never
    /// cached.
    package var proof: TokenProof? { contents.values.proof }

    /// The whole payload.
    package var claims: JSONObject {
        get { contents.values.claims }
        set {
            // The user remains as in the original token.
            let user = stated
            change { ($0.claims, $0.user) = (newValue, .stated(user)) }
        }
    }

    package var username: String? {
        switch contents.values.user {
        case .claimed(let user): user.username(in: claims)
        case .stated(let user): user.username
        }
    }

    package var email: String? {
        get {
            switch contents.values.user {
            case .claimed: claims[UserClaims.email]?.stringValue
            case .stated(let user): user.email
            }
        }
        set { changeUser { $0.email = newValue } }
    }

    package var emailVerified: Bool? {
        get {
            switch contents.values.user {
            case .claimed: claims[UserClaims.emailVerified]?.flagValue
            case .stated(let user): user.emailVerified
            }
        }
        set { changeUser { $0.emailVerified = newValue } }
    }

    package var groups: [String] {
        get {
            switch contents.values.user {
            case .claimed(let user): user.groups(in: claims)
            case .stated(let user): user.groups
            }
        }
        set { changeUser { $0.groups = newValue } }
    }

    package var scopes: [String] {
        get {
            switch contents.values.user {
            case .claimed(let user): user.scopes(in: claims)
            case .stated(let user): user.scopes
            }
        }
        set { changeUser { $0.scopes = newValue } }
    }

    private var stated: StatedUser {
        StatedUser(username: username, email: email, emailVerified: emailVerified, groups: groups, scopes: scopes)
    }

    private mutating func changeUser(_ body: (inout StatedUser) -> Void) {
        var user = stated
        body(&user)
        change { $0.user = .stated(user) }
    }

    private mutating func change(_ body: (inout Values) -> Void) {
        var values = contents.values
        body(&values)
        contents = Contents(values)
    }
}

/// Accessors for ``IdentityLines``, which copies texts from the payload to header lines without intermediate values.
extension VerifiedToken {
    func withUsername(_ body: (borrowing Span<UInt8>) -> Void) {
        switch contents.values.user {
        case .claimed(let user):
            if let name = user.usernameClaim { claims.withText(of: name, body) }
        case .stated(let user): if let username = user.username { body(username.utf8.span) }
        }
    }

    func withEmail(_ body: (borrowing Span<UInt8>) -> Void) {
        switch contents.values.user {
        case .claimed: claims.withText(of: UserClaims.email, body)
        case .stated(let user): if let email = user.email { body(email.utf8.span) }
        }
    }

    func forEachGroup(_ body: (borrowing Span<UInt8>) -> Void) {
        switch contents.values.user {
        case .claimed(let user): user.forEachGroup(in: claims, body)
        case .stated(let user): for group in user.groups { body(group.utf8.span) }
        }
    }

    func forEachScope(_ body: (borrowing Span<UInt8>) -> Void) {
        switch contents.values.user {
        case .claimed(let user): user.forEachScope(in: claims, body)
        case .stated(let user): for scope in user.scopes { body(scope.utf8.span) }
        }
    }
}

/// The key that verified a token, and the end of its validity.
package struct TokenProof: Sendable {
    /// The issuer's index in ``TokenVerifier/issuers``.
    package let issuerIndex: Int
    /// The key that signed it, and the generation of the key set it came from.
    package let key: VerificationKey
    package let generation: UInt64
    /// The first second at which it is no longer valid: `exp` plus the issuer's skew and grace.
    package let endsAt: Int64
}

/// The verified tokens that a route accepts.
package struct TokenAcceptance: Sendable, Equatable {
    /// The configured names of the issuers; nil for all.
    package let issuers: Set<String>?
    package let tokenUses: Set<TokenUse>
    /// ``tokenUses`` as one bit each, because every request checks them.
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

    /// The reason that an otherwise valid token is not accepted here; nil if it is.
    package func rejection(issuerName: String, use: TokenUse) -> RejectReason? {
        guard accepts(issuerNamed: issuerName) else { return .issuerNotAccepted }
        return accepts(use) ? nil : .tokenUseNotAccepted
    }
}
