internal import Locking

/// Counts the calls that run in tasks outside the event loops, so that shutdown can wait for them. A call whose client
/// has disconnected belongs to no connection, but Cognito may already have carried out part of it.
package final class CallsInFlight: Sendable {
    private struct State {
        var count = 0
        /// The tasks that wait until no call is running.
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    private let state = Locked(State())

    package init() {}

    /// Counts a new call. Each `begin()` must be followed by one ``end()``.
    package func begin() {
        state.withLock { $0.count += 1 }
    }

    package func end() {
        for each in takeWaitingAtEnd() { each.finish() }
    }

    /// Returns when no call is running, or at the deadline.
    package func wait(until deadline: ContinuousClock.Instant) async {
        let (none, waiting) = AsyncStream<Never>.makeStream()
        guard hasCalls(notifying: waiting) else { return }
        let timer = Task {
            // Throws only when cancelled, and then nobody waits.
            try? await Task.sleep(until: deadline, clock: .continuous)
            waiting.finish()
        }
        for await _ in none {}
        timer.cancel()
    }

    private func takeWaitingAtEnd() -> [AsyncStream<Never>.Continuation] {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private func hasCalls(notifying waiting: AsyncStream<Never>.Continuation) -> Bool {
        state.withLock { state in
            guard state.count > 0 else { return false }
            state.waiting.append(waiting)
            return true
        }
    }
}
