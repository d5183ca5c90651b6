package import Logging

/// Finds out all the time whether the store can be written, so that readiness tells it without asking, and says in the
/// log when that changes.
package final class StoreWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let store: Store
    private let logger: Logger

    package init(_ store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Until cancelled.
    package func run() async {
        var known: String?
        while !Task.isCancelled {
            await store.tryWriting()
            let fault = store.writeFault
            tell(fault, after: known)
            known = fault
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }

    private func tell(_ fault: String?, after known: String?) {
        switch (known, fault) {
        case (nil, let fault?): logger.error("store cannot be written", metadata: ["error": "\(fault)"])
        case (.some, nil): logger.notice("store can be written again")
        default: break
        }
    }
}
