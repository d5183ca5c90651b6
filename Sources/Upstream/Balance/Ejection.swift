internal import Pipeline

/// The way in which a server failed a request.
enum ServerFailure: Sendable, Equatable {
    /// No connection could be made: nothing that a request holds brings that about.
    case unreachable
    /// No connection was made in time. Nothing in a request does that either, but too many of them may.
    case slowToConnect
    /// The request was sent, and was answered badly or not at all. That may be its own doing.
    case ofRequest(RequestTraits)
}

/// Hashes that tell whether failed requests have their path or their client in common.
struct RequestTraits: Sendable, Equatable {
    var path: UInt64
    var client: UInt64
}

/// A server's failures since it last did well.
struct FailureStreak: Sendable {
    private var connecting = 0
    private var requests = 0
    private var paths: [UInt64] = []
    private var clients: [UInt64] = []

    var isEmpty: Bool { connecting == 0 && requests == 0 }

    mutating func add(_ failure: ServerFailure, _ policy: EjectionPolicy) {
        switch failure {
        case .unreachable, .slowToConnect: connecting += 1
        case .ofRequest(let traits):
            requests += 1
            Self.note(traits.path, in: &paths, upTo: policy.paths)
            Self.note(traits.client, in: &clients, upTo: policy.clients)
        }
    }

    /// - Parameter isOnProbation: whether the server has just come back, so that a single failed connection is enough.
    ///   A single failed request is not: else one client could keep the server away.
    func suffices(_ policy: EjectionPolicy, isOnProbation: Bool) -> Bool {
        if connecting >= (isOnProbation ? 1 : policy.after) { return true }
        return requests >= policy.after && paths.count >= policy.paths && clients.count >= policy.clients
    }

    private static func note(_ hash: UInt64, in seen: inout [UInt64], upTo count: Int) {
        if seen.count < count, !seen.contains(hash) { seen.append(hash) }
    }
}
