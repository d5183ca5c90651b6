package import Pipeline

/// Makes concurrent refreshes of one token share one call to Cognito.
///
/// Apps send several requests at once, see all of them refused, and refresh from each: with rotation the second call
/// to Cognito would look like the reuse of a stolen token.
package actor RefreshFlights<Success: Sendable> {
    package typealias Outcome = Result<Success, Refusal>

    private var flights: [[UInt8]: Task<Outcome, Never>] = [:]
    /// The number of callers that wait for an outcome.
    private(set) var waiting = 0

    /// The queue of work that must run one at a time for a session.
    nonisolated let sessions = SessionQueue()

    package init() {}

    /// Waits for the outcome of the work in progress under this key, or starts it.
    ///
    /// - Parameter key: a hash that identifies the token, so that the table contains no token.
    package func outcome(for key: [UInt8], of work: @escaping @Sendable () async -> Outcome) async -> Outcome {
        waiting += 1
        defer { waiting -= 1 }
        if let flight = flights[key] {
            let outcome = await flight.value
            // The work does not decide on a reused token if its client has disconnected. This caller's client is
            // connected, so the work runs again.
            guard case .failure(let refusal) = outcome, refusal.reason == .request(.clientDisconnected) else {
                return outcome
            }
            return await work()
        }
        // Unstructured on purpose: if the first client disconnects, the others still get the result.
        let flight = Task { await work() }
        flights[key] = flight
        defer { flights[key] = nil }
        return await flight.value
    }
}
