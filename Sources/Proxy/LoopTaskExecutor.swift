internal import NIOCore

/// Runs tasks on an event loop, for calls that wait often and compute little. This keeps their state in the processor's
/// caches and wakes no other thread to resume them.
///
/// Database work still runs on its own queue, and unstructured tasks on the global pool (SE-0417).
final class LoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // The loop uses job and executor once, while the closure retains the executor.
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
