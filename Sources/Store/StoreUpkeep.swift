package import Logging

/// Removes expired records periodically, even if no write that would tidy them occurs: sessions without a valid token,
/// and expired records of single use.
package final class StoreUpkeep: Sendable {
    /// The interval at which the clock's reading is stored.
    private static let interval = Duration.seconds(60)
    /// The number of intervals between two removals.
    private static let roundsOfRemoval = 10

    private let records: GatewayRecords
    private let now: @Sendable () -> Int64
    private let logger: Logger

    /// - Parameter now: seconds since 1970.
    package init(_ records: GatewayRecords, logger: Logger, now: @escaping @Sendable () -> Int64) {
        self.records = records
        self.logger = logger
        self.now = now
    }

    /// - Throws: the first error. A failure with one table does not stop the others.
    func removeEnded() async throws {
        let (records, now) = (records, now())
        let removals: [() async throws -> Void] = [
            { try await records.sessions.removeEnded(now: now) },
            { try await records.directSessions.removeEnded(now: now) },
            { try await records.users.removeEnded(now: now) },
            { try await records.codes.removeEnded(now: now) },
            { try await records.shortLived?.removeEnded() },
        ]
        var failure: (any Error)?
        for remove in removals {
            do { try await remove() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Runs until cancelled. The first removal is immediate, for records that expired while no process ran.
    package func run() async {
        var rounds = 0
        while !Task.isCancelled {
            do {
                if rounds % Self.roundsOfRemoval == 0 { try await removeEnded() }
                try await records.clock.keepPruningClock(now: now())
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("expired records cannot be removed", metadata: ["error": "\(error)"])
            }
            rounds += 1
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }
}
