internal import Keys
internal import Locking
internal import Logging
package import Pipeline
package import Store

/// Ends the validity of sessions' tokens: by revocation, or by a newer token. The predecessors of a newer token become
/// invalid once nobody may ask for it with them.
///
/// Superseded tokens are not stored: the sessions' records show them after a restart.
package final class SessionEnds: SessionRevocations {
    private static let interval = Duration.seconds(1)
    /// How many intervals pass between two looks for what other processes have refreshed.
    private static let roundsOfFollowing = 10

    private let records: any UserSessionRecords
    private let revocations: RevocationService
    /// The `iss` of the sessions.
    let issuer: String
    private let now: @Sendable () -> Int64
    /// In the order of their refreshes; those before `begin` are done with.
    private let waiting = Locked<Queue>(Queue())
    /// How far the records have been read.
    private let position = Locked<ChangePosition?>(nil)
    private let logger: Logger

    private struct Queue {
        var sessions: [SupersededSession] = []
        var begin = 0

        mutating func takeDue(_ isDue: (SupersededSession) -> Bool) -> [SupersededSession] {
            var end = begin
            while end < sessions.count, isDue(sessions[end]) { end += 1 }
            let due = Array(sessions[begin..<end])
            begin = end
            if begin > sessions.count / 2 {
                sessions.removeFirst(begin)
                begin = 0
            }
            return due
        }
    }

    /// - Parameter now: seconds since 1970.
    init(
        _ records: any UserSessionRecords, _ revocations: RevocationService, issuer: String, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) {
        self.records = records
        self.revocations = revocations
        self.logger = logger
        self.issuer = issuer
        self.now = now
    }

    package var current: RevocationList { revocations.current }

    package func revoke(_ revocations: [Revocation]) async throws {
        try await self.revocations.revoke(revocations)
    }

    package func supersede(_ session: SupersededSession) {
        // As many as the list could hold at all: the records still have those that are left out.
        waiting.withLock { waiting in
            guard waiting.sessions.count - waiting.begin < revocations.room else { return }
            waiting.sessions.append(session)
        }
    }

    /// Takes up what was superseded before the process began, and later what others have superseded since. When this
    /// returns, what is due counts no more.
    func follow() async throws {
        let reading = try await records.superseded(
            since: position.withLock { $0 }, now: now(), limit: revocations.room)
        position.withLock { $0 = reading.position }
        for session in reading.sessions { supersede(session) }
        await endDue()
    }

    /// Lets tokens count no more whose successors were given long enough ago.
    func endDue() async {
        let now = now()
        // As ``Store/LostAnswers``: a refresh further ahead than the window was by a clock that has been set back
        // since.
        let open = now - LostAnswers.window...now + LostAnswers.window
        let due = waiting.withLock { $0.takeDue { !open.contains($0.refreshedAt) } }
        guard !due.isEmpty else { return }
        await revocations.supersede(
            due.map {
                SupersededTokens(issuer: issuer, sessionID: $0.id, rotation: $0.rotation, endsAt: $0.expiresAt)
            })
    }

    /// Follows the records until cancelled.
    package func run() async {
        var rounds = 0
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
            rounds += 1
            do {
                if rounds % Self.roundsOfFollowing == 0 { try await follow() }
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("refreshes of other processes cannot be read", metadata: ["error": "\(error)"])
            }
            await endDue()
        }
    }
}
