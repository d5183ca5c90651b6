internal import HTTPTypes

/// A route's requirements, compiled: what is asked at each of its requests, and the answers to those that fall short.
struct RouteRequirement: Sendable {
    private let requirements: Requirements
    private let number: Int
    /// Which segment of the path must be the token's subject.
    private let subjectSegment: Int?
    /// Whether the backend takes subjects that differ in case alone for one.
    private let ignoresCase: Bool
    private let challenges: Challenges

    /// Nil for a route that requires nothing.
    init?(_ route: Route, numbers: inout RequirementNumbers) {
        let segment = route.pattern.subjectSegment
        guard route.requirements != nil || segment != nil else { return nil }
        requirements = route.requirements ?? Requirements()
        number = numbers.number(of: requirements)
        subjectSegment = segment
        ignoresCase = route.ignoresCase
        challenges = Challenges(requirements)
    }

    /// Why a request with this token is refused; nil when it may pass.
    ///
    /// Requirements that a token has met are remembered in its cache entry. Time and path are checked each time.
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
