internal import Locking

/// A caller's wait for the loop. It ends once, with a result or because the caller's task was cancelled; later results
/// are rejected.
final class PostgresWait<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, PostgresError>

    private enum State {
        case begins
        case waits(CheckedContinuation<Outcome, Never>)
        /// Has the outcome if it came before the continuation was installed.
        case isOver(Outcome?)
    }

    private let state = Locked(State.begins)

    /// - Parameters:
    ///   - begin: called on the loop's thread; must eventually end the wait.
    ///   - cancelled: called on the loop's thread after a cancellation has ended the wait.
    static func run(
        _ begin: @escaping @Sendable (PostgresWait) -> Void, cancelled: @escaping @Sendable () -> Void = {}
    ) async throws(PostgresError) -> Value {
        let wait = PostgresWait()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait.install(continuation)
                PostgresLoop.shared.execute { if !wait.isOver { begin(wait) } }
            }
        } onCancel: {
            if wait.end(.failure(.cancelled)) { PostgresLoop.shared.execute(cancelled) }
        }
        return try outcome.get()
    }

    var isOver: Bool {
        state.withLock { state in
            if case .isOver = state { true } else { false }
        }
    }

    /// - Returns: whether the caller receives this outcome.
    @discardableResult
    func end(_ outcome: Outcome) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Outcome, Never>?) in
            switch state {
            case .begins:
                state = .isOver(outcome)
                return (true, nil)
            case .waits(let continuation):
                state = .isOver(nil)
                return (true, continuation)
            case .isOver: return (false, nil)
            }
        }
        continuation?.resume(returning: outcome)
        return isFirst
    }

    private func install(_ continuation: CheckedContinuation<Outcome, Never>) {
        let outcome = state.withLock { state -> Outcome? in
            guard case .isOver(let outcome) = state else {
                state = .waits(continuation)
                return nil
            }
            return outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
    }
}

/// A value that is used only on ``PostgresLoop``'s thread and may therefore be sent to it.
struct OnLoop<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
