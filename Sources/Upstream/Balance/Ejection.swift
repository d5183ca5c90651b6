package import NIOCore

/// When a server that fails real requests is left alone, and how it comes back.
package struct EjectionPolicy: Sendable, Equatable {
    /// Failures in a row that eject; 0: never.
    package var after: Int
    /// Responses that count as failures, beside connections that fail and answers that do not come.
    package var statuses: Set<Int>
    /// How long the first time; doubled each further time.
    package var first: TimeAmount
    package var longest: TimeAmount
    /// Over how long a server that comes back gets its whole share again.
    package var slowReturn: TimeAmount

    package init(
        after: Int = 5, statuses: Set<Int> = [502, 503, 504], first: TimeAmount = .seconds(10),
        longest: TimeAmount = .seconds(300), slowReturn: TimeAmount = .seconds(30)
    ) {
        self.after = after
        self.statuses = statuses
        self.first = first
        self.longest = longest
        self.slowReturn = slowReturn
    }
}

/// Whether one server takes requests, and how many of its share: what real requests and health checks have shown.
struct ServerState: Sendable {
    private let policy: EjectionPolicy
    private var failures = 0
    /// Ejections that followed each other closely.
    private var ejections = 0
    private var ejectedUntil: NIODeadline?
    private var returnedAt: NIODeadline?
    /// Ejected, back, and not yet proven: the next failure ejects at once.
    private var isOnProbation = false
    /// What health checks say.
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
    var remembersFailures: Bool { failures > 0 || isOnProbation }

    /// When an ejection ends.
    var returnsAt: NIODeadline? { ejectedUntil }

    mutating func succeeded() {
        failures = 0
        isOnProbation = false
    }

    /// - Returns: whether this has ejected the server.
    mutating func failed(at now: NIODeadline) -> Bool {
        guard policy.after > 0, ejectedUntil == nil else { return false }
        failures += 1
        guard failures >= policy.after || isOnProbation else { return false }
        // A server that has served well for the longest time begins anew.
        if let returnedAt, now - returnedAt > policy.longest { ejections = 0 }
        ejections += 1
        let doubled = policy.first.nanoseconds.multipliedReportingOverflow(by: 1 << Int64(min(ejections - 1, 30)))
        let time = doubled.overflow ? policy.longest : min(.nanoseconds(doubled.partialValue), policy.longest)
        ejectedUntil = now + time
        returnedAt = nil
        failures = 0
        return true
    }

    /// - Returns: whether this has changed anything.
    mutating func setHealthy(_ healthy: Bool, at now: NIODeadline) -> Bool {
        guard healthy != isHealthy else { return false }
        isHealthy = healthy
        if healthy {
            // Checks know better than what was before them.
            ejectedUntil = nil
            failures = 0
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
        if let until = ejectedUntil, until <= now {
            ejectedUntil = nil
            returnedAt = until
            isOnProbation = true
        }
        guard takesRequests else { return 0 }
        guard let returnedAt else { return 100 }
        let since = now - returnedAt
        guard since < policy.slowReturn else {
            // Kept for `failed(at:)` as long as the last ejection counts.
            if since > policy.longest { self.returnedAt = nil; ejections = 0 }
            return 100
        }
        return Int(max(10, since.nanoseconds * 100 / policy.slowReturn.nanoseconds))
    }
}
