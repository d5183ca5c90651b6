internal import Foundation
internal import Glibc
internal import Synchronization

/// A thread that works at intervals, or earlier when woken, and sleeps after an iteration without work. Log writes may
/// block, which is not allowed on the threads of Swift's concurrency pool.
///
/// It waits on a pipe, because the timeout of poll(2) is monotonic. The timeout of a semaphore is wall-clock time
/// (sem_timedwait(3)): setting the clock back would delay the log by the same time.
final class WriterThread: Sendable {
    private let isStopped = Atomic(false)
    private let isFinishing = Atomic(false)
    private let hasFinished = Atomic(false)
    /// The ends of the pipe; -1 if no descriptors were available. The thread then cannot be woken and works only at
    /// intervals.
    private let reading: CInt
    private let writing: CInt
    private let name: String

    init(name: String) {
        self.name = name
        var ends: [CInt] = [-1, -1]
        if unsafe pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        for end in [reading, writing] where end >= 0 { close(end) }
    }

    /// - Parameter work: returns whether it found anything to do. If not, the producer of the next work must call
    ///   ``wake()``.
    func start(everyMilliseconds interval: Int, _ work: @escaping @Sendable () -> Bool) {
        let thread = Thread { [self] in
            var isBusy = true
            while true {
                // A timeout of -1 is infinite. Without a pipe the thread could not be woken from it.
                wait(milliseconds: isBusy || reading < 0 ? interval : -1)
                guard !isStopped.load(ordering: .acquiring) else { return }
                let isLast = isFinishing.load(ordering: .acquiring)
                isBusy = work()
                guard !isLast else { return hasFinished.store(true, ordering: .releasing) }
            }
        }
        thread.name = name
        thread.start()
    }

    private func wait(milliseconds: Int) {
        var end = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&end, 1, CInt(milliseconds)) > 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 64)
        _ = unsafe read(reading, &bytes, bytes.count)
    }

    /// Makes the thread work now instead of at the end of the interval.
    func wake() {
        var byte: UInt8 = 0
        // If the pipe is full, the thread wakes anyway.
        _ = unsafe write(writing, &byte, 1)
    }

    /// Stops the thread. Work in progress is completed.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        wake()
    }

    /// Lets the thread work once more and then stops it. It blocks for up to `limit`.
    ///
    /// - Returns: true if the work was completed in time; false if it is still in progress.
    func finish(within limit: Duration) -> Bool {
        isFinishing.store(true, ordering: .releasing)
        wake()
        let deadline = ContinuousClock.now + limit
        while !hasFinished.load(ordering: .acquiring) {
            guard ContinuousClock.now < deadline else { return false }
            // The pipe wakes only the writer thread, so this one polls.
            usleep(2000)
        }
        return true
    }
}
