internal import Logging
internal import Store

/// Forgets what has ended also where nothing is written that would take some of it along: sessions that nobody can have
/// a token of, and what was used once and counts no more anyway.
final class StoreUpkeep: Sendable {
    private static let interval = Duration.seconds(600)

    private let sessions: StoredSessions
    private let users: StoredUsers
    private let now: @Sendable () -> Int64
    private let logger: Logger

    /// - Parameter now: seconds since 1970.
    init(_ store: Store, logger: Logger, now: @escaping @Sendable () -> Int64) {
        sessions = StoredSessions(store)
        users = StoredUsers(store)
        self.logger = logger
        self.now = now
    }

    func removeEnded() async throws {
        try await sessions.removeEnded(now: now())
        try await users.removeEnded(now: now())
    }

    /// Until cancelled; at first at once, since what ended while nothing ran is there as well.
    func run() async {
        while !Task.isCancelled {
            do {
                try await removeEnded()
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("what has ended cannot be removed", metadata: ["error": "\(error)"])
            }
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }
}
