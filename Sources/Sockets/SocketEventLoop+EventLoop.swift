package import Dispatch
package import NIOCore

extension SocketEventLoop: EventLoop {
    package var inEventLoop: Bool { isCurrent }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        if isCurrent {
            append(task)
        } else {
            // A loop that has ended discards the task. Its owner has ended it and does not wait for tasks.
            _ = send(task)
        }
    }

    package func _executeIsolatedUnsafeUnchecked(_ task: @escaping () -> Void) { append(task) }

    package func scheduleTask<Value>(
        deadline: NIODeadline, _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        let promise = makePromise(of: Value.self)
        let timer = LoopTimer(deadline) { end in
            switch end {
            case .due: promise.assumeIsolatedUnsafeUnchecked().completeWith(Result { try task() })
            case .stopped: promise.fail(EventLoopError.shutdown)
            }
        }
        return scheduled(timer, promise)
    }

    package func scheduleTask<Value>(
        in time: TimeAmount, _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        scheduleTask(deadline: .now() + time, task)
    }

    private func scheduled<Value>(_ timer: LoopTimer, _ promise: EventLoopPromise<Value>) -> Scheduled<Value> {
        let bound = OnLoop(timer)
        if isCurrent {
            add(timer)
        } else {
            // On a loop that has ended, the timer is discarded and its promise is not even failed: nothing waits for it
            // any more.
            _ = send { self.add(bound.value) }
        }
        return Scheduled(promise: promise) {
            if self.isCurrent { self.cancel(bound.value) } else { _ = self.send { self.cancel(bound.value) } }
        }
    }

    /// A timer in transit to its loop. It is only used on that loop.
    private struct OnLoop: @unchecked Sendable {
        let value: LoopTimer
        init(_ value: LoopTimer) { self.value = value }
    }

    package func next() -> any EventLoop { self }

    package func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }

    /// Fails: a loop can only be shut down with its group.
    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(EventLoopError.unsupportedOperation) }
    }
}
