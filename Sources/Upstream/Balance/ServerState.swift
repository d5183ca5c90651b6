internal import NIOCore
internal import Pipeline

/// The state of one server: whether it takes requests, and how much of its share, as shown by requests and health
/// checks.
struct ServerState: Sendable {
    private let policy: EjectionPolicy
    private var streak = FailureStreak()
    /// The number of ejections in close succession.
    private var ejections = 0
    /// The end of the ejection; nil if the server is not ejected.
    private(set) var ejectedUntil: NIODeadline?
    private var returnedAt: NIODeadline?
    /// Whether the server has returned from an ejection and has not yet succeeded.
    private var isOnProbation = false
    /// The result of the health checks.
    private(set) var isHealthy = true
    /// Whether an operator has drained the server.
    private(set) var isDrained = false

    init(_ policy: EjectionPolicy) {
        self.policy = policy
    }

    var isEjected: Bool { ejectedUntil != nil }
    var takesRequests: Bool { isHealthy && !isDrained && ejectedUntil == nil }
    /// Whether the share changes with time alone.
    var isInTransition: Bool { ejectedUntil != nil || returnedAt != nil }
    /// Whether a success would change the state. It rarely would; this cheap check runs for every response.
    var remembersFailures: Bool { !streak.isEmpty || isOnProbation }

    mutating func succeeded() {
        streak = FailureStreak()
        isOnProbation = false
    }

    /// - Returns: whether the failures suffice for an ejection. If so, call ``eject(at:)`` or ``stay()``.
    mutating func failed(_ failure: ServerFailure) -> Bool {
        // Requests that fail during an ejection began before it.
        guard policy.after > 0, ejectedUntil == nil else { return false }
        streak.add(failure, policy)
        return streak.suffices(policy, isOnProbation: isOnProbation)
    }

    mutating func eject(at now: NIODeadline) {
        // After a good period of the longest ejection's length, ejections are counted anew.
        if let returnedAt, now - returnedAt > policy.longest { ejections = 0 }
        ejections += 1
        let doubled = policy.first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(ejections - 1, 30)))
        let time = doubled.overflow ? policy.longest : min(.nanoseconds(doubled.partialValue), policy.longest)
        ejectedUntil = now + time
        returnedAt = nil
        streak = FailureStreak()
    }

    /// Keeps a failing server that is needed; its failures are counted anew.
    mutating func stay() { streak = FailureStreak() }

    /// Ends an ejection now, if there is one.
    mutating func returnNow(at now: NIODeadline) {
        guard ejectedUntil != nil else { return }
        ejectedUntil = nil
        returnedAt = now
        isOnProbation = true
    }

    /// - Returns: whether the state has changed.
    mutating func setHealthy(_ healthy: Bool, at now: NIODeadline) -> Bool {
        guard healthy != isHealthy else { return false }
        isHealthy = healthy
        if healthy {
            // Health checks override earlier failures.
            ejectedUntil = nil
            streak = FailureStreak()
            returnedAt = now
        }
        return true
    }

    /// - Returns: whether the state has changed.
    mutating func setDrained(_ drained: Bool) -> Bool {
        guard drained != isDrained else { return false }
        isDrained = drained
        return true
    }

    /// Returns the percentage of its share that the server takes now, 0 to 100. Call it regularly while
    /// ``isInTransition``.
    mutating func share(at now: NIODeadline) -> Int {
        if let until = ejectedUntil, until <= now { returnNow(at: until) }
        guard takesRequests else { return 0 }
        guard let returnedAt else { return 100 }
        let since = now - returnedAt
        guard since < policy.slowReturn else {
            // `eject(at:)` needs `returnedAt` while the last ejection counts.
            if since > policy.longest { self.returnedAt = nil; ejections = 0 }
            return 100
        }
        return Int(max(10, since.nanoseconds * 100 / policy.slowReturn.nanoseconds))
    }
}
