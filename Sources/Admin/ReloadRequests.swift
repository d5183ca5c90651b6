internal import Locking

/// Serializes reloads and checks of the files that the settings name, because both may change the configuration. All
/// requests made during a reload are served by one further reload. The same holds for file checks.
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

    /// Requests a check of the files after each interval, until the task is cancelled.
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

    /// Requests a reload. Returns the outcome of a reload that began after the call.
    func askAndWait() async -> ReloadOutcome {
        await withCheckedContinuation { asker in
            let isFinished = waiting.withLock { waiting in
                guard !waiting.isFinished else { return true }
                // Set together: an iteration that begins for a file check also takes the waiting callers, and must then
                // reload.
                waiting.askers.append(asker)
                waiting.wantsReload = true
                return false
            }
            if isFinished { asker.resume(returning: .stopping) } else { continuation.yield() }
        }
    }

    /// Stops serving requests. Waiting callers receive ``ReloadOutcome/stopping``.
    package func finish() {
        continuation.finish()
        let left = waiting.withLock { waiting in
            waiting.isFinished = true
            defer { waiting.askers = [] }
            return waiting.askers
        }
        for asker in left { asker.resume(returning: .stopping) }
    }

    /// Calls `reload` and `look` for each request, until ``finish()``.
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
