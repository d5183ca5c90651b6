package import Logging

/// Finds out all the time whether the store can be written, so that readiness tells it without asking, and says in the
/// log when that changes.
package final class StoreWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let store: any StateStore
    private let logger: Logger

    package init(_ store: any StateStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

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
        case (nil, let error?): logger.error("store cannot be written", metadata: ["error": "\(error)"])
        case (.some, nil): logger.notice("store can be written again")
        default: break
        }
    }
}
