internal import Clocks
internal import Locking
package import Logging

/// Finds out all the time whether the store can be written, so that readiness tells it without asking, and says in the
/// log when that changes.
package final class StoreWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let store: any StateStore
    private let logger: Logger
    private let since = Locked<Int64?>(nil)

    package init(_ store: any StateStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// When it was first found that the store cannot be written, in seconds since 1970; nil while it can.
    package var failingSince: Int64? { since.withLock { $0 } }

    /// Until cancelled.
    package func run() async {
        var known: String?
        while !Task.isCancelled {
            await store.tryWriting()
            let error = store.writeError
            report(error, after: known)
            known = error
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }

    private func report(_ error: String?, after known: String?) {
        switch (known, error) {
        case (nil, let error?):
            since.withLock { $0 = WallClock.seconds() }
            logger.error("store cannot be written", metadata: ["error": "\(error)"])
        case (.some, nil):
            since.withLock { $0 = nil }
            logger.notice("store can be written again")
        default: break
        }
    }
}
