internal import NIOCore
internal import Pipeline

/// The states of an upstream's servers on one event loop. They decide together which of them are ejected: never so many
/// that those left cannot serve in their place, and never the last one, unless that is asked for.
struct ServerStates: Sendable {
    /// The outcome of a failure.
    enum Verdict: Sendable, Equatable {
        case stays, ejected
        /// It would be ejected, but is needed.
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

    /// As for ``ServerState/remembersFailures``.
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
        // The last one fails as well: any of the others is worth another try.
        if !hasOthers { endEjections(at: now) }
        return .withheld
    }

    /// Servers that refuse connections may all be ejected but one: there is nothing to be had from them. How the others
    /// fail may be the requests' doing, or come of too many of them, which would be more still for those left.
    private func mayEjectFurther(for failure: ServerFailure) -> Bool {
        failure == .unreachable
            || states.count(where: \.isEjected) < max(1, states.count * policy.largestShare / 100)
    }

    private mutating func endEjections(at now: NIODeadline) {
        for index in states.indices { states[index].returnNow(at: now) }
    }

    /// - Returns: whether this has changed anything.
    mutating func setHealthy(_ healthy: Bool, server: Int, at now: NIODeadline) -> Bool {
        guard states[server].setHealthy(healthy, at: now) else { return false }
        keepOneServing(at: now)
        return true
    }

    /// - Returns: whether this has changed anything.
    mutating func setDrained(_ drained: Bool, server: Int, at now: NIODeadline) -> Bool {
        guard states[server].setDrained(drained) else { return false }
        keepOneServing(at: now)
        return true
    }

    /// Where checks or an operator have taken out the last one, those that are only ejected are better than none.
    private mutating func keepOneServing(at now: NIODeadline) {
        if !policy.ejectsLastServer, !states.contains(where: \.takesRequests) { endEjections(at: now) }
    }

    /// As for ``ServerState/share(at:)``.
    mutating func share(of server: Int, at now: NIODeadline) -> Int { states[server].share(at: now) }

    /// Whether time alone will change a server's share.
    var isInTransition: Bool { states.contains(where: \.isInTransition) }

    /// When the next ejection ends that is all that keeps a server from serving.
    var nextReturn: NIODeadline? {
        states.filter { $0.isHealthy && !$0.isDrained }.compactMap(\.ejectedUntil).min()
    }
}
