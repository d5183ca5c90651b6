internal import NIOCore

/// The connections of one event loop that may be closed in favour of new ones, longest idle first.
///
/// No order is maintained while requests come and go, since each request would pay for it. The connections are searched
/// when there is no room: one search serves many new connections, and a search without a result is not repeated for 250
/// ms.
struct IdleConnections {
    private struct Candidate {
        let connection: any TimedConnection
        let since: NIODeadline
    }

    /// Sorted; the connection that has been idle longest is last.
    private var candidates: [Candidate] = []
    private var nextSearch = NIODeadline.uptimeNanoseconds(0)

    /// The minimum idle time: a connection that was just opened or has just received a response may have its next
    /// request on the way.
    static let leastAge = TimeAmount.seconds(1)
    private static let pause = TimeAmount.milliseconds(250)
    /// The most connections that one search returns.
    private static let batch = 64

    /// Removes and returns the connection that has been idle longest; nil if none is idle.
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
            // It may have closed or served a request in the meantime.
            if candidate.connection.setIndex >= 0, candidate.connection.idleSince == candidate.since {
                return candidate.connection
            }
        }
        return nil
    }

    /// Discards the results of the last search.
    mutating func forget() {
        if !candidates.isEmpty { candidates.removeAll() }
    }
}
