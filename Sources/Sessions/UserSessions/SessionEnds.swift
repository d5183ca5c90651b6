internal import Clocks
internal import Keys
internal import Locking
internal import Logging
package import Pipeline
package import Store

/// Invalidates sessions' tokens: by revocation, or because of a newer token. The predecessors of a newer token become
/// invalid once it can no longer be requested again with them.
///
/// Superseded tokens are not stored: after a restart they follow from the sessions' records.
package final class SessionEnds: SessionRevocations {
    private static let interval = Duration.seconds(1)
    /// The number of intervals between two readings of other processes' refreshes.
    private static let roundsOfFollowing = 10
    /// The maximum number of seconds between two readings of changes. Records no longer show a refresh as a change
    /// after ``Store/RetryWindows/window`` seconds; then only a full reading returns its session.
    private static let longestPause = RetryWindows.window / 2

    private let records: any UserSessionRecords
    private let revocations: RevocationService
    /// The `iss` of the sessions.
    let issuer: String
    private let now: @Sendable () -> Int64
    private let uptime: @Sendable () -> Int64
    /// In the order of their refreshes; those before `begin` are done.
    private let waiting = Locked<Queue>(Queue())
    private let last = Locked<Reading?>(nil)
    private let logger: Logger

    /// The position up to which the records have been read, and when the reading began by both clocks.
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
    ///   - uptime: seconds of a monotonic clock.
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
        // At most as many as the revocation list has room for: omitted ones remain in the records.
        waiting.withLock { waiting in
            guard waiting.sessions.count - waiting.begin < revocations.room else { return }
            waiting.sessions.append(session)
        }
    }

    /// Reads the sessions superseded before the process began and, in later calls, those superseded by other processes.
    /// After a failure or a long pause all are read again. When this returns, tokens that are due are invalid.
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

    /// The position of the next reading; nil if all must be read. Unless this reading succeeds, the next one reads all
    /// too.
    private func takePosition(at time: Int64, _ uptime: Int64) -> ChangePosition? {
        let known = last.withLock { last in
            defer { last = nil }
            return last
        }
        guard let known else { return nil }
        let pause = max(abs(time - known.time), uptime - known.uptime)
        return pause <= Self.longestPause ? known.position : nil
    }

    /// Invalidates tokens whose successors were issued long enough ago.
    func endDue() async {
        let now = now()
        await end(waiting.withLock { $0.takeDue { Self.isDue($0, at: now) } })
    }

    /// As in ``Store/RetryWindows``: a refresh further ahead than the window was recorded by a clock that has been set
    /// back since.
    private static func isDue(_ session: SupersededSession, at now: Int64) -> Bool {
        !(now - RetryWindows.window...now + RetryWindows.window).contains(session.refreshedAt)
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
