internal import Dispatch
internal import Foundation
internal import Synchronization

/// A thread that does its work at intervals, or earlier when woken. Writing a log may block, which the threads that
/// Swift's tasks share must not.
final class WriterThread: Sendable {
    private let isStopped = Atomic(false)
    /// Its time limit is monotonic: a clock that is set back must not hold up the log.
    private let woken = DispatchSemaphore(value: 0)
    private let name: String

    init(name: String) { self.name = name }

    func start(everyMilliseconds interval: Int, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            while true {
                _ = woken.wait(timeout: .now() + .milliseconds(interval))
                guard !isStopped.load(ordering: .acquiring) else { return }
                work()
            }
        }
        thread.name = name
        thread.start()
    }

    /// Has the work done now rather than at the interval's end.
    func wake() {
        woken.signal()
    }

    /// Ends the thread; work that has begun goes on to its end.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        woken.signal()
    }
}
