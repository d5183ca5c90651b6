package import Logging

/// Forgets what has ended also where nothing is written that would take some of it along: sessions that nobody can have
/// a token of, and what was used once and counts no more anyway.
package final class StoreUpkeep: Sendable {
    /// How often it is kept how far the clock is.
    private static let interval = Duration.seconds(60)
    /// How many intervals pass between two looks for what has ended.
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

    /// - Throws: the first error. The failure of one table keeps no other from its turn.
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

    /// Until cancelled; at first at once, since what ended while nothing ran is there as well.
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
