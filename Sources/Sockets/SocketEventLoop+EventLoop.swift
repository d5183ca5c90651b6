package import Dispatch
package import NIOCore

extension SocketEventLoop: EventLoop {
    package var inEventLoop: Bool { isCurrent }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        if isCurrent {
            append(task)
        } else {
            // A loop that has ended runs nothing any more, and whoever waits for it has ended it.
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
            // On a loop that has ended nothing comes of it, not even a failure: whoever would hear of it is gone.
            _ = send { self.add(bound.value) }
        }
        return Scheduled(promise: promise) {
            if self.isCurrent { self.cancel(bound.value) } else { _ = self.send { self.cancel(bound.value) } }
        }
    }

    /// A timer on its way to its loop, where alone it is used.
    private struct OnLoop: @unchecked Sendable {
        let value: LoopTimer
        init(_ value: LoopTimer) { self.value = value }
    }

    package func next() -> any EventLoop { self }

    package func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }

    /// A loop ends with its group.
    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(EventLoopError.unsupportedOperation) }
    }
}
