internal import Pipeline
internal import SignIn
internal import Store
internal import Synchronization

/// What makes sessions count no more: revocations, and newer tokens, whose predecessors count no more once nobody may
/// ask for the newer one with them.
///
/// What is superseded is not kept: the sessions' records say it after a restart.
final class SessionEnds: SessionRevocations {
    private static let interval = Duration.seconds(1)

    private let revocations: RevocationService
    /// The `iss` of the sessions.
    private let issuer: String
    private let now: @Sendable () -> Int64
    /// In the order of their refreshes; those before `begin` are done with.
    private let waiting = Mutex<Deque>(Deque())

    private struct Deque {
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
    init(_ revocations: RevocationService, issuer: String, now: @escaping @Sendable () -> Int64) {
        self.revocations = revocations
        self.issuer = issuer
        self.now = now
    }

    var current: RevocationList { revocations.current }

    func revoke(_ revocations: [Revocation]) async throws {
        try await self.revocations.revoke(revocations)
    }

    func supersede(_ session: SupersededSession) {
        // As many as the list could hold at all: the records still have those that are left out.
        waiting.withLock { waiting in
            guard waiting.sessions.count - waiting.begin < revocations.room else { return }
            waiting.sessions.append(session)
        }
    }

    /// Takes up what was superseded before the process began. When this returns, what is due counts no more.
    func follow(_ records: some UserSessionRecords) async throws {
        let sessions = try await records.superseded(now: now(), limit: revocations.room)
        for session in sessions.sorted(by: { $0.refreshedAt < $1.refreshedAt }) { supersede(session) }
        await endDue()
    }

    /// Lets tokens count no more whose successors were given long enough ago.
    func endDue() async {
        let before = now() - StoredUsers.retryWindow
        let due = waiting.withLock { $0.takeDue { $0.refreshedAt < before } }
        guard !due.isEmpty else { return }
        await revocations.supersede(
            due.map {
                SupersededTokens(issuer: issuer, sessionID: $0.id, rotation: $0.rotation, endsAt: $0.expiresAt)
            })
    }

    func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
            await endDue()
        }
    }
}
