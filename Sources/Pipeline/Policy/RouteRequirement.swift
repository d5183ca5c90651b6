internal import HTTPTypes

/// A route's requirements, compiled: the checks of each request, and the refusals if they are not met.
struct RouteRequirement: Sendable {
    private let requirements: Requirements
    private let number: Int
    /// The position of the path segment that must be the token's subject; nil for none.
    private let subjectSegment: Int?
    /// Whether the backend treats subjects that differ only in case as the same.
    private let ignoresCase: Bool
    private let challenges: Challenges

    /// Nil if the route requires nothing.
    init?(_ route: Route, numbers: inout RequirementNumbers) {
        let segment = route.pattern.subjectSegment
        guard route.requirements != nil || segment != nil else { return nil }
        requirements = route.requirements ?? Requirements()
        number = numbers.number(of: requirements)
        subjectSegment = segment
        ignoresCase = route.ignoresCase
        challenges = Challenges(requirements)
    }

    /// The refusal of a request with this token; nil if it may pass.
    ///
    /// The requirements that a token has met are stored in its cache entry. Time and path are checked at each request.
    func refusal(of entry: TokenCache.Entry, path: borrowing RequestPath, now: Int64) -> Refusal? {
        denial(of: entry, path: path, now: now).map(challenges.refusal)
    }

    private func denial(of entry: TokenCache.Entry, path: borrowing RequestPath, now: Int64) -> PolicyDenial? {
        if !entry.met.contains(number) {
            if let denial = requirements.lastingDenial(of: entry.token) { return denial }
            entry.met.insert(number)
        }
        if let subjectSegment,
            !path.hasSegment(subjectSegment, equalTo: entry.token.subject, ignoringCase: ignoresCase)
        {
            return .subjectMismatch
        }
        return requirements.isRecent(entry.token, now: now) ? nil : .authenticationTooOld
    }
}

/// The refusals of clients that do not meet a route's requirements. They do not name the missing claim or group; only
/// the log does.
private struct Challenges: Sendable {
    private let scope: String
    private let maximumAge: Int64

    init(_ requirements: Requirements) {
        var scopes: [String] = []
        for scope in requirements.allScopes + requirements.anyScope where !scopes.contains(scope) {
            scopes.append(scope)
        }
        scope = scopes.joined(separator: " ")
        maximumAge = requirements.maximumAge ?? 0
    }

    func refusal(for denial: PolicyDenial) -> Refusal {
        switch denial {
        case .insufficientScope: return .scopeMissing(scope, reason: .policy(denial))
        case .authenticationTooOld: return .authenticationTooOld(maximumAge: maximumAge)
        case .groupMissing, .claimMismatch, .emailNotVerified, .subjectMismatch:
            return Refusal(.accessDenied, reason: .policy(denial))
        }
    }
}
