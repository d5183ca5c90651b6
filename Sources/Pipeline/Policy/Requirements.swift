internal import Encoding

/// A route's configured requirements of a verified token. All of them must hold.
package struct Requirements: Sendable, Hashable {
    /// All of these scopes, and one of those where there are any.
    package var allScopes: [String]
    package var anyScope: [String]
    /// The same of the user's groups.
    package var allGroups: [String]
    package var anyGroup: [String]
    package var claims: [ClaimCondition]
    /// `email_verified` is true.
    package var emailVerified: Bool
    /// The most seconds since the user showed who they are: `auth_time` (OpenID Connect Core §2).
    package var maximumAge: Int64?

    package init(
        allScopes: [String] = [], anyScope: [String] = [], allGroups: [String] = [], anyGroup: [String] = [],
        claims: [ClaimCondition] = [], emailVerified: Bool = false, maximumAge: Int64? = nil
    ) {
        self.allScopes = allScopes
        self.anyScope = anyScope
        self.allGroups = allGroups
        self.anyGroup = anyGroup
        self.claims = claims
        self.emailVerified = emailVerified
        self.maximumAge = maximumAge
    }

    /// Why a token is not enough, as far as that is the same at any time and for any path; nil when it is enough.
    package func lastingDenial(of token: VerifiedToken) -> PolicyDenial? {
        guard Self.holds(all: allScopes, any: anyScope, in: token.scopes) else { return .insufficientScope }
        guard Self.holds(all: allGroups, any: anyGroup, in: token.groups) else { return .groupMissing }
        guard claims.allSatisfy({ $0.holds(for: token.claims) }) else { return .claimMismatch }
        guard !emailVerified || token.emailVerified == true else { return .emailNotVerified }
        return nil
    }

    /// Whether the user has shown lately enough who they are. Without an `auth_time`, or with one after the token was
    /// made, nobody knows.
    package func isRecent(_ token: VerifiedToken, now: Int64) -> Bool {
        guard let maximumAge else { return true }
        guard let time = token.claims["auth_time"]?.numberValue?.numericDate,
            time <= max(now, token.issuedAt ?? now)
        else { return false }
        return now - time <= maximumAge
    }

    private static func holds(all: [String], any: [String], in present: [String]) -> Bool {
        let has = { (wanted: String) in present.contains { $0.hasSameBytes(as: wanted) } }
        return all.allSatisfy(has) && (any.isEmpty || any.contains(where: has))
    }
}

/// Why a verified token is not enough for a route. The raw values are for logs and metrics.
package enum PolicyDenial: String, Sendable, CaseIterable {
    case insufficientScope = "insufficient-scope"
    case groupMissing = "group-missing"
    case claimMismatch = "claim-mismatch"
    case emailNotVerified = "email-not-verified"
    /// The path names another subject, or can be read as if it did.
    case subjectMismatch = "subject-mismatch"
    case authenticationTooOld = "authentication-too-old"
}
