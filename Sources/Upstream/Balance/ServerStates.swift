internal import NIOCore
internal import Pipeline

/// The states of an upstream's servers on one event loop. Ejections are decided jointly: the servers left must be able
/// to take the load, and the last one is ejected only if the policy says so.
struct ServerStates: Sendable {
    /// The outcome of a failure.
    enum Verdict: Sendable, Equatable {
        case stays, ejected
        /// The server should be ejected, but is needed.
        case withheld
    }

    private let policy: EjectionPolicy
    private var states: [ServerState]

    init(_ policy: EjectionPolicy, count: Int) {
        var policy = policy
        if count == 1, !policy.ejectsLastServer { policy.after = 0 }
        self.policy = policy
        self.states = Array(repeating: ServerState(policy), count: count)
    }

    /// See ``ServerState/remembersFailures``.
    func remembersFailures(of server: Int) -> Bool { states[server].remembersFailures }

    mutating func succeeded(_ server: Int) { states[server].succeeded() }

    mutating func failed(_ server: Int, _ failure: ServerFailure, at now: NIODeadline) -> Verdict {
        guard states[server].failed(failure) else { return .stays }
        let hasOthers = states.indices.contains { $0 != server && states[$0].takesRequests }
        if hasOthers ? mayEjectFurther(for: failure) : policy.ejectsLastServer {
            states[server].eject(at: now)
            return .ejected
        }
        states[server].stay()
        // If the last server fails as well, the ejected ones get another try.
        if !hasOthers { endEjections(at: now) }
        return .withheld
    }

    /// Returns whether another server may be ejected. All but one of the servers that refuse connections may be: they
    /// are of no use. Other failures may be caused by the requests themselves or by overload, which would increase for
    /// the servers left.
    private func mayEjectFurther(for failure: ServerFailure) -> Bool {
        failure == .unreachable
            || states.count(where: \.isEjected) < max(1, states.count * policy.largestShare / 100)
    }

    private mutating func endEjections(at now: NIODeadline) {
        for index in states.indices { states[index].returnNow(at: now) }
    }

    /// - Returns: whether the state has changed.
    mutating func setHealthy(_ healthy: Bool, server: Int, at now: NIODeadline) -> Bool {
        guard states[server].setHealthy(healthy, at: now) else { return false }
        keepOneServing(at: now)
        return true
    }

    /// - Returns: whether the state has changed.
    mutating func setDrained(_ drained: Bool, server: Int, at now: NIODeadline) -> Bool {
        guard states[server].setDrained(drained) else { return false }
        keepOneServing(at: now)
        return true
    }

    /// Ends the ejections if health checks or an operator have removed the last server: ejected servers are better than
    /// none.
    private mutating func keepOneServing(at now: NIODeadline) {
        if !policy.ejectsLastServer, !states.contains(where: \.takesRequests) { endEjections(at: now) }
    }

    /// See ``ServerState/share(at:)``.
    mutating func share(of server: Int, at now: NIODeadline) -> Int { states[server].share(at: now) }

    /// Whether any server's share changes with time alone.
    var isInTransition: Bool { states.contains(where: \.isInTransition) }

    /// The earliest end of an ejection, among servers that are healthy and not drained; nil if there is none.
    var nextReturn: NIODeadline? {
        states.filter { $0.isHealthy && !$0.isDrained }.compactMap(\.ejectedUntil).min()
    }
}
