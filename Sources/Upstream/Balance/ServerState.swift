internal import NIOCore
internal import Pipeline

/// Whether one server takes requests, and how many of its share: what real requests and health checks have shown.
struct ServerState: Sendable {
    private let policy: EjectionPolicy
    private var streak = FailureStreak()
    /// Ejections that followed each other closely.
    private var ejections = 0
    /// When an ejection ends.
    private(set) var ejectedUntil: NIODeadline?
    private var returnedAt: NIODeadline?
    /// Ejected, back, and not yet proven.
    private var isOnProbation = false
    /// The health checks' result.
    private(set) var isHealthy = true
    /// Whether an operator has taken it out.
    private(set) var isDrained = false

    init(_ policy: EjectionPolicy) {
        self.policy = policy
    }

    var isEjected: Bool { ejectedUntil != nil }
    var takesRequests: Bool { isHealthy && !isDrained && ejectedUntil == nil }
    /// Whether time alone will change its share.
    var isInTransition: Bool { ejectedUntil != nil || returnedAt != nil }
    /// Whether a success would change anything: seldom, and asked for every response.
    var remembersFailures: Bool { !streak.isEmpty || isOnProbation }

    mutating func succeeded() {
        streak = FailureStreak()
        isOnProbation = false
    }

    /// - Returns: whether it has now failed as often as ejects a server. Then ``eject(at:)`` or ``stay()`` follows.
    mutating func failed(_ failure: ServerFailure) -> Bool {
        // Requests that fail during an ejection were under way before it.
        guard policy.after > 0, ejectedUntil == nil else { return false }
        streak.add(failure, policy)
        return streak.suffices(policy, isOnProbation: isOnProbation)
    }

    mutating func eject(at now: NIODeadline) {
        // A server that has served well for the longest time begins anew.
        if let returnedAt, now - returnedAt > policy.longest { ejections = 0 }
        ejections += 1
        let doubled = policy.first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(ejections - 1, 30)))
        let time = doubled.overflow ? policy.longest : min(.nanoseconds(doubled.partialValue), policy.longest)
        ejectedUntil = now + time
        returnedAt = nil
        streak = FailureStreak()
    }

    /// It is needed although it fails: its failures are counted anew.
    mutating func stay() { streak = FailureStreak() }

    /// Ends its ejection before its time, if there is one.
    mutating func returnNow(at now: NIODeadline) {
        guard ejectedUntil != nil else { return }
        ejectedUntil = nil
        returnedAt = now
        isOnProbation = true
    }

    /// - Returns: whether this has changed anything.
    mutating func setHealthy(_ healthy: Bool, at now: NIODeadline) -> Bool {
        guard healthy != isHealthy else { return false }
        isHealthy = healthy
        if healthy {
            // Checks know better than what was before them.
            ejectedUntil = nil
            streak = FailureStreak()
            returnedAt = now
        }
        return true
    }

    /// - Returns: whether this has changed anything.
    mutating func setDrained(_ drained: Bool) -> Bool {
        guard drained != isDrained else { return false }
        isDrained = drained
        return true
    }

    /// The percentage of its share that the server takes now, 0 for none. Call from time to time while
    /// ``isInTransition``.
    mutating func share(at now: NIODeadline) -> Int {
        if let until = ejectedUntil, until <= now { returnNow(at: until) }
        guard takesRequests else { return 0 }
        guard let returnedAt else { return 100 }
        let since = now - returnedAt
        guard since < policy.slowReturn else {
            // Kept for `eject(at:)` as long as the last ejection counts.
            if since > policy.longest { self.returnedAt = nil; ejections = 0 }
            return 100
        }
        return Int(max(10, since.nanoseconds * 100 / policy.slowReturn.nanoseconds))
    }
}
