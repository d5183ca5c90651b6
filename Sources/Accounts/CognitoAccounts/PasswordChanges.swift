internal import Locking
package import Store

/// Password changes in progress. Each is stored beforehand, with the sessions that must end afterwards: if the process
/// is killed in between, the next one completes it.
///
/// There is one instance per process, which knows the changes in progress here.
package final class PasswordChanges: Sendable {
    private static let takenAtOnce = 64

    /// The changes that this process has stored, by their ids.
    private struct State: Sendable {
        var underWay: Set<[UInt8]> = []
        /// Those whose sessions could not be ended here.
        var left: Set<[UInt8]> = []
        /// Those that are complete but could not be removed yet.
        var done: Set<[UInt8]> = []
    }

    private let records: any PasswordChangeRecords
    private let state = Locked(State())
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - random: returns the requested number of bytes from a cryptographic source.
    package init(
        _ records: any PasswordChangeRecords, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.records = records
        self.now = now
        self.random = random
    }

    /// Stores a change before it is made.
    ///
    /// - Returns: the change's ID, for ``finish(_:)`` or ``leave(_:)``.
    func begin(_ sessions: EndedByPassword, poolID: String, clientID: String) async throws -> [UInt8] {
        let id = random(16)
        state.withLock { _ = $0.underWay.insert(id) }
        do {
            try await records.add(
                PasswordChangeRecord(
                    id: id, poolID: poolID, clientID: clientID, subject: sessions.subject, spared: sessions.spared,
                    notedAt: now(), endsSignInsUntil: sessions.signedInUntil))
        } catch {
            // It may have been stored despite the error.
            state.withLock { _ = $0.done.insert(id) }
            throw error
        }
        return id
    }

    /// Removes a change whose sessions have ended, or whose password was not set. If the removal fails,
    /// ``removeDone()`` repeats it.
    func finish(_ id: [UInt8]) async throws {
        state.withLock { _ = $0.done.insert(id) }
        try await records.remove(id)
        forget(id)
    }

    /// Removes the complete changes that could not be removed before.
    func removeDone() async throws {
        for id in state.withLock({ $0.done }) { try await finish(id) }
    }

    /// Leaves the sessions to ``leftOver(poolID:clientID:patience:)``.
    func leave(_ id: [UInt8]) {
        state.withLock { state in
            state.left.insert(id)
            state.underWay.remove(id)
        }
    }

    private func leftOver(of stored: [PasswordChangeRecord], notedUntil latest: Int64) -> [PasswordChangeRecord] {
        let state = state.withLock { $0 }
        return stored.filter { record in
            state.left.contains(record.id)
                || record.notedAt <= latest && !state.underWay.contains(record.id) && !state.done.contains(record.id)
        }
    }

    private func forget(_ id: [UInt8]) {
        state.withLock { state in
            state.underWay.remove(id)
            state.left.remove(id)
            state.done.remove(id)
        }
    }

    /// Returns the changes whose sessions nobody is ending.
    ///
    /// - Parameter patience: the seconds for which a change may be in progress at another gateway, unknown to this one.
    func leftOver(poolID: String, clientID: String, patience: Int64) async throws -> [PasswordChangeRecord] {
        let stored = try await records.all(poolID: poolID, clientID: clientID, limit: Self.takenAtOnce)
        return leftOver(of: stored, notedUntil: now() - patience)
    }
}

/// The sessions that end with a new password.
struct EndedByPassword: Sendable {
    /// nil if the gateway does not know whose password it is: no session ends then.
    var subject: String?
    /// The `origin_jti` of the session that continues; nil: all end.
    var spared: String?
    /// The latest sign-in time to end, in seconds since 1970.
    var signedInUntil: Int64
}
