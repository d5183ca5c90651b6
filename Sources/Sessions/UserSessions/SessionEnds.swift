internal import Clocks
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
    /// How many seconds may lie between two readings of changes. Records forget a refresh as a change after
    /// ``Store/LostAnswers/window`` seconds, and then show its session only to a reading of all.
    private static let longestPause = LostAnswers.window / 2

    private let records: any UserSessionRecords
    private let revocations: RevocationService
    /// The `iss` of the sessions.
    let issuer: String
    private let now: @Sendable () -> Int64
    private let uptime: @Sendable () -> Int64
    /// In the order of their refreshes; those before `begin` are done with.
    private let waiting = Locked<Queue>(Queue())
    private let last = Locked<Reading?>(nil)
    private let logger: Logger

    /// How far the records have been read, and when that began by both clocks.
    private struct Reading {
        var position: ChangePosition
        var time: Int64
        var uptime: Int64
    }

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

    /// - Parameters:
    ///   - uptime: seconds of a clock that nobody sets.
    ///   - now: seconds since 1970.
    init(
        _ records: any UserSessionRecords, _ revocations: RevocationService, issuer: String, logger: Logger,
        uptime: @escaping @Sendable () -> Int64 = { WallClock.uptime() }, now: @escaping @Sendable () -> Int64
    ) {
        self.records = records
        self.revocations = revocations
        self.logger = logger
        self.issuer = issuer
        self.uptime = uptime
        self.now = now
    }

    package var current: RevocationList { revocations.current }
    package var hasUnstored: Bool { revocations.hasUnstored }

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

    /// Takes up what was superseded before the process began, and later what others have superseded since. After a
    /// failure or a long pause all is read again. When this returns, what is due counts no more.
    func follow() async throws {
        let (time, uptime) = (now(), uptime())
        let reading = try await records.superseded(
            since: takePosition(at: time, uptime), now: time, limit: revocations.room)
        last.withLock { $0 = Reading(position: reading.position, time: time, uptime: uptime) }
        var due: [SupersededSession] = []
        for session in reading.sessions {
            if Self.isDue(session, at: time) { due.append(session) } else { supersede(session) }
        }
        await end(due)
        await endDue()
    }

    /// From where to read on; nil where all must be read. The next reading is of all as well unless this one succeeds.
    private func takePosition(at time: Int64, _ uptime: Int64) -> ChangePosition? {
        let known = last.withLock { last in
            defer { last = nil }
            return last
        }
        guard let known else { return nil }
        let pause = max(abs(time - known.time), uptime - known.uptime)
        return pause <= Self.longestPause ? known.position : nil
    }

    /// Lets tokens count no more whose successors were given long enough ago.
    func endDue() async {
        let now = now()
        await end(waiting.withLock { $0.takeDue { Self.isDue($0, at: now) } })
    }

    /// As ``Store/LostAnswers``: a refresh further ahead than the window was by a clock that has been set back since.
    private static func isDue(_ session: SupersededSession, at now: Int64) -> Bool {
        !(now - LostAnswers.window...now + LostAnswers.window).contains(session.refreshedAt)
    }

    private func end(_ sessions: [SupersededSession]) async {
        guard !sessions.isEmpty else { return }
        await revocations.supersede(
            sessions.map {
                SupersededTokens(
                    issuer: issuer, sessionID: $0.id, rotation: $0.rotation, endsAt: $0.expiresAt + Issuer.longestSkew)
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
