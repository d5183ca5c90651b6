internal import Foundation
internal import Glibc
internal import Synchronization

/// A thread that does its work at intervals, or earlier when woken, and sleeps after a turn that found nothing to do.
/// Writing a log may block, which the threads that Swift's tasks share must not.
///
/// It waits on a pipe: the time limit of poll(2) is monotonic. That of a semaphore is a time of day (sem_timedwait(3)),
/// and a clock that is set back would hold up the log for as long.
final class WriterThread: Sendable {
    private let isStopped = Atomic(false)
    private let isFinishing = Atomic(false)
    private let hasFinished = Atomic(false)
    /// Without descriptors left, -1: nobody can wake it then, and it works at intervals only.
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

    /// - Parameter work: returns whether it found anything to do. Where it did not, whoever brings something wakes the
    ///   thread.
    func start(everyMilliseconds interval: Int, _ work: @escaping @Sendable () -> Bool) {
        let thread = Thread { [self] in
            var isBusy = true
            while true {
                // A time limit of -1 is none. Without a pipe nobody can wake it.
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

    /// Has the work done now rather than at the interval's end.
    func wake() {
        var byte: UInt8 = 0
        // A pipe that is full wakes it anyway.
        _ = unsafe write(writing, &byte, 1)
    }

    /// Ends the thread; work that has begun goes on to its end.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        wake()
    }

    /// Has the work done once more, and ends the thread. It blocks for up to `limit`.
    ///
    /// - Returns: whether that was done in time; otherwise it goes on.
    func finish(within limit: Duration) -> Bool {
        isFinishing.store(true, ordering: .releasing)
        wake()
        let deadline = ContinuousClock.now + limit
        while !hasFinished.load(ordering: .acquiring) {
            guard ContinuousClock.now < deadline else { return false }
            // The pipe wakes only the thread.
            usleep(2000)
        }
        return true
    }
}
