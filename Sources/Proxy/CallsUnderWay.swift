internal import Locking

/// Counts the calls that tasks carry out beside the event loops, so that a stop can wait for them. A call whose client
/// has gone belongs to no connection, but Cognito may have done its part of it already.
package final class CallsUnderWay: Sendable {
    private struct State {
        var count = 0
        /// Of those who wait until there is no call.
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    private let state = Locked(State())

    package init() {}

    /// Counts a call in: each is followed by one ``end()``.
    package func begin() {
        state.withLock { $0.count += 1 }
    }

    package func end() {
        for each in takeWaitingAtEnd() { each.finish() }
    }

    /// Returns when no call is under way, or at the deadline.
    package func wait(until deadline: ContinuousClock.Instant) async {
        let (none, waiting) = AsyncStream<Never>.makeStream()
        guard hasCalls(notifying: waiting) else { return }
        let timer = Task {
            // Fails only when it is cancelled, and nobody waits then.
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
