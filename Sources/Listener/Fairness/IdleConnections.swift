internal import NIOCore

/// The connections of one event loop that may be closed in favour of new ones, those first that have been idle the
/// longest.
///
/// Nothing is kept in order while requests come and go, which would cost each of them. They are looked for when there
/// is no room: one search serves many new connections, and one that finds nothing is not repeated at once.
struct IdleConnections {
    private struct Candidate {
        let connection: any TimedConnection
        let since: NIODeadline
    }

    /// The one that is idle the longest comes last.
    private var candidates: [Candidate] = []
    private var nextSearch = NIODeadline.uptimeNanoseconds(0)

    /// A connection that was just opened or answered may have its next request on the way.
    static let leastAge = TimeAmount.seconds(1)
    private static let pause = TimeAmount.milliseconds(250)
    /// How many one search finds at most.
    private static let batch = 64

    /// Takes out the one that has been idle the longest; nil when none is.
    mutating func next(among connections: [any TimedConnection], at now: NIODeadline) -> (any TimedConnection)? {
        if let found = takeLast() { return found }
        guard now >= nextSearch else { return nil }
        candidates = connections.compactMap { connection in
            connection.idleSince.flatMap { since in
                since + Self.leastAge <= now ? Candidate(connection: connection, since: since) : nil
            }
        }
        candidates.sort { $0.since > $1.since }
        candidates.removeFirst(max(0, candidates.count - Self.batch))
        if candidates.isEmpty { nextSearch = now + Self.pause }
        return takeLast()
    }

    private mutating func takeLast() -> (any TimedConnection)? {
        while let candidate = candidates.popLast() {
            // It may have gone, or have served a request since.
            if candidate.connection.setIndex >= 0, candidate.connection.idleSince == candidate.since {
                return candidate.connection
            }
        }
        return nil
    }

    /// Keeps nothing of a search for longer than it is of use.
    mutating func forget() {
        if !candidates.isEmpty { candidates.removeAll() }
    }
}
