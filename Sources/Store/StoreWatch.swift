internal import Clocks
internal import Locking
package import Logging

/// Continuously tests whether the store can be written, so that readiness checks need no query, and logs changes.
package final class StoreWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let store: any StateStore
    private let logger: Logger
    private let since = Locked<Int64?>(nil)

    package init(_ store: any StateStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// When the store was first found unwritable, in seconds since 1970; nil if it can be written.
    package var failingSince: Int64? { since.withLock { $0 } }

    /// Runs until cancelled.
    package func run() async {
        // Separate from the trials, since one may hang.
        async let reports: Void = Self.repeatUntilCancelled { self.report() }
        await Self.repeatUntilCancelled {
            await self.store.tryWriting()
            self.report()
        }
        await reports
    }

    private static func repeatUntilCancelled(_ body: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await body()
            do {
                try await Task.sleep(for: interval)
            } catch {
                return
            }
        }
    }

    private func report() {
        let error = store.writeError
        let hasChanged = since.withLock { since in
            switch (since, error) {
            case (nil, .some): since = WallClock.seconds()
            case (.some, nil): since = nil
            case (nil, nil), (.some, .some): return false
            }
            return true
        }
        guard hasChanged else { return }
        if let error {
            logger.error("store cannot be written", metadata: ["error": "\(error)"])
        } else {
            logger.notice("store can be written again")
        }
    }
}
