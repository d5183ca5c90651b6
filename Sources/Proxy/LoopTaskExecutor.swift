internal import NIOCore

/// Runs tasks on an event loop, for calls that wait often and compute little: such a call has its state at hand, and no
/// thread is woken to go on with it.
///
/// Work of a database still runs on its own queue, and unstructured tasks on the pool (SE-0417).
final class LoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // Job and executor are used once, by the loop, while this is held.
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
