internal import Encoding

/// A route's configured requirements of a verified token. All of them must hold.
package struct Requirements: Sendable, Hashable {
    /// All of these scopes are required, and one of ``anyScope`` unless it is empty.
    package var allScopes: [String]
    package var anyScope: [String]
    /// The same for the user's groups.
    package var allGroups: [String]
    package var anyGroup: [String]
    package var claims: [ClaimCondition]
    /// Whether `email_verified` must be true.
    package var emailVerified: Bool
    /// The maximum time since the user authenticated, in seconds: `auth_time` (OpenID Connect Core §2).
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

    /// The unmet requirement of a token, among those that depend on neither time nor path; nil if all of these are met.
    package func lastingDenial(of token: VerifiedToken) -> PolicyDenial? {
        guard Self.holds(all: allScopes, any: anyScope, in: token.scopes) else { return .insufficientScope }
        guard Self.holds(all: allGroups, any: anyGroup, in: token.groups) else { return .groupMissing }
        guard claims.allSatisfy({ $0.holds(for: token.claims) }) else { return .claimMismatch }
        guard !emailVerified || token.emailVerified == true else { return .emailNotVerified }
        return nil
    }

    /// Whether the user authenticated recently enough. False without an `auth_time`, or if it is later than both `now`
    /// and the token's `iat`.
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

/// The reason that a verified token does not satisfy a route. The raw values are for logs and metrics.
package enum PolicyDenial: String, Sendable, CaseIterable {
    case insufficientScope = "insufficient-scope"
    case groupMissing = "group-missing"
    case claimMismatch = "claim-mismatch"
    case emailNotVerified = "email-not-verified"
    /// The path names another subject, or can be read so.
    case subjectMismatch = "subject-mismatch"
    case authenticationTooOld = "authentication-too-old"
}
