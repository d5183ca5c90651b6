internal import Glibc
internal import Locking

/// Threads for blocking calls, which event loops must not make. A thread ends when no work is left.
final class LookupThreads: Sendable {
    typealias Work = @Sendable () -> Void

    private struct Queue {
        var waiting: [Work] = []
        var running = 0
    }

    private let most: Int
    private let queue = Locked(Queue())

    /// - Parameter most: the most threads that run at once; further work waits for one of them.
    init(most: Int) {
        self.most = most
    }

    /// Runs `work` on one of the threads.
    ///
    /// - Returns: whether `work` will run. It will not if no thread can be created and none is running.
    func run(_ work: @escaping Work) -> Bool {
        let startsThread = queue.withLock { queue in
            guard queue.running < most else {
                queue.waiting.append(work)
                return false
            }
            queue.running += 1
            return true
        }
        guard startsThread, !startThread(with: work) else { return true }
        return queue.withLock { queue in
            queue.running -= 1
            guard queue.running > 0 else { return false }
            queue.waiting.append(work)
            return true
        }
    }

    private final class Start {
        let threads: LookupThreads
        let work: Work

        init(_ threads: LookupThreads, _ work: @escaping Work) {
            self.threads = threads
            self.work = work
        }
    }

    private func startThread(with work: @escaping Work) -> Bool {
        let start = Unmanaged.passRetained(Start(self, work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                start.threads.work(start.work)
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func work(_ first: @escaping Work) {
        var next: Work? = first
        while let work = next {
            work()
            next = queue.withLock { queue in
                guard !queue.waiting.isEmpty else {
                    queue.running -= 1
                    return nil
                }
                return queue.waiting.removeFirst()
            }
        }
    }
}
