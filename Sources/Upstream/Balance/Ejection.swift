internal import Pipeline

/// The kind of a server's failure.
enum ServerFailure: Sendable, Equatable {
    /// No connection could be made. The contents of a request cannot cause this.
    case unreachable
    /// No connection was made in time. The contents of a request cannot cause this, but too many requests can.
    case slowToConnect
    /// The request was sent, and its response was an error or missing. The request itself may be the cause.
    case ofRequest(RequestTraits)
}

/// Hashes for recognizing failed requests with the same path or client.
struct RequestTraits: Sendable, Equatable {
    var path: UInt64
    var client: UInt64
}

/// A server's failures since its last success.
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

    /// - Parameter isOnProbation: whether the server has just returned, so that a single failed connection suffices. A
    ///   single failed request does not: otherwise one client could keep the server ejected.
    func suffices(_ policy: EjectionPolicy, isOnProbation: Bool) -> Bool {
        if connecting >= (isOnProbation ? 1 : policy.after) { return true }
        return requests >= policy.after && paths.count >= policy.paths && clients.count >= policy.clients
    }

    private static func note(_ hash: UInt64, in seen: inout [UInt64], upTo count: Int) {
        if seen.count < count, !seen.contains(hash) { seen.append(hash) }
    }
}
