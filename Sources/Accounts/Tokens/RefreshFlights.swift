package import Pipeline

/// Makes concurrent refreshes of one token share one call to Cognito.
///
/// Apps send several requests at once, see all of them refused, and refresh from each: with rotation the second call
/// to Cognito would look like the reuse of a stolen token.
package actor RefreshFlights<Success: Sendable> {
    package typealias Outcome = Result<Success, Refusal>

    private var flights: [[UInt8]: Task<Outcome, Never>] = [:]
    /// How many callers wait for an outcome.
    private(set) var waiting = 0

    /// For work of which one is done at a time for a session.
    nonisolated let sessions = SessionQueue()

    package init() {}

    /// Joins the flight for this key, or starts it.
    ///
    /// - Parameter key: SHA-256 of the token, so that the table holds no token.
    package func outcome(for key: [UInt8], of work: @escaping @Sendable () async -> Outcome) async -> Outcome {
        waiting += 1
        defer { waiting -= 1 }
        if let flight = flights[key] {
            let outcome = await flight.value
            // A token that was used before is not judged where its client has gone: this caller's is here, and it is.
            guard case .failure(let refusal) = outcome, refusal.reason == .request(.clientDisconnected) else {
                return outcome
            }
            return await work()
        }
        // Unstructured on purpose: the first caller's hanging up must not take the answer from the others.
        let flight = Task { await work() }
        flights[key] = flight
        defer { flights[key] = nil }
        return await flight.value
    }
}
