internal import Foundation

/// A thread that does its work at intervals, or earlier when woken. Writing a log may block, which the threads that
/// Swift's tasks share must not.
final class WriterThread: Sendable {
    private struct State {
        var isWoken = false
        var isStopped = false
    }

    /// `NSCondition` and not a `Mutex`, for its waiting with a time limit. It guards `state`.
    private let condition = NSCondition()
    private nonisolated(unsafe) var state = State()

    func start(every interval: TimeInterval, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            while waitForTurn(interval) { work() }
        }
        thread.name = "access-log"
        thread.start()
    }

    /// Has the work done now rather than at the interval's end.
    func wake() {
        withState { $0.isWoken = true }
    }

    /// No work begins after this returns, except what had begun.
    func stop() {
        withState { $0.isStopped = true }
    }

    /// False once stopped.
    private func waitForTurn(_ interval: TimeInterval) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let end = Date(timeIntervalSinceNow: interval)
        while unsafe !state.isWoken && !state.isStopped, condition.wait(until: end) {}
        unsafe state.isWoken = false
        return unsafe !state.isStopped
    }

    private func withState(_ change: (inout State) -> Void) {
        condition.lock()
        unsafe change(&state)
        condition.signal()
        condition.unlock()
    }
}
