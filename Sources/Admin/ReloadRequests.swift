internal import Locking

/// The reloads that are asked for, and the one that is done: one after the other, and what is asked for while one is
/// under way is one more, however often it is asked for. The same holds for looks at the files that the settings name,
/// and between the two: each may change the configuration.
package final class ReloadRequests: Sendable {
    private struct Waiting {
        var askers: [CheckedContinuation<ReloadOutcome, Never>] = []
        var wantsReload = false
        var wantsLook = false
        var isFinished = false
    }

    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let waiting = Locked(Waiting())

    package init() {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func ask() {
        waiting.withLock { $0.wantsReload = true }
        continuation.yield()
    }

    /// Asks for a look at files after each interval, until the task is cancelled.
    package func askForLooks(every interval: Duration) async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: interval)
            } catch {
                return
            }
            waiting.withLock { $0.wantsLook = true }
            continuation.yield()
        }
    }

    /// Returns when one has been done that began after the call.
    func askAndWait() async -> ReloadOutcome {
        await withCheckedContinuation { asker in
            let isFinished = waiting.withLock { waiting in
                guard !waiting.isFinished else { return true }
                // Both at once: a turn that begins for a look takes all askers along.
                waiting.askers.append(asker)
                waiting.wantsReload = true
                return false
            }
            if isFinished { asker.resume(returning: .stopping) } else { continuation.yield() }
        }
    }

    /// Takes no more of them.
    package func finish() {
        continuation.finish()
        let left = waiting.withLock { waiting in
            waiting.isFinished = true
            defer { waiting.askers = [] }
            return waiting.askers
        }
        for asker in left { asker.resume(returning: .stopping) }
    }

    /// Calls `reload` and `look` for what is asked, until ``finish()``.
    package func serve(_ reload: () async -> ReloadOutcome, look: () async -> Void = {}) async {
        for await _ in requests {
            let wanted = waiting.withLock { waiting in
                defer { (waiting.askers, waiting.wantsReload, waiting.wantsLook) = ([], false, false) }
                return waiting
            }
            if wanted.wantsReload {
                let outcome = await reload()
                for asker in wanted.askers { asker.resume(returning: outcome) }
            }
            if wanted.wantsLook { await look() }
        }
    }
}
