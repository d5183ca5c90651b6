internal import Locking
package import Store

/// New passwords that are being set. Each is stored first, with the sessions that must end then: what a process that is
/// killed in between leaves to be done, the next one does.
///
/// One object for the process: it knows which changes are under way here.
package final class PasswordChanges: Sendable {
    private static let takenAtOnce = 64

    /// The changes that this process has stored, by their ids.
    private struct State: Sendable {
        var underWay: Set<[UInt8]> = []
        /// Those whose sessions could not be ended here.
        var left: Set<[UInt8]> = []
        /// Those that are done, and could not be removed yet.
        var done: Set<[UInt8]> = []
    }

    private let records: any PasswordChangeRecords
    private let state = Locked(State())
    private let now: @Sendable () -> Int64
    private let random: @Sendable (Int) -> [UInt8]

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - random: gives as many random bytes as asked for, from a cryptographic source.
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
    /// - Returns: its id, for ``finish(_:)`` or ``leave(_:)``.
    func begin(_ sessions: EndedByPassword, poolID: String, clientID: String) async throws -> [UInt8] {
        let id = random(16)
        state.withLock { _ = $0.underWay.insert(id) }
        do {
            try await records.add(
                PasswordChangeRecord(
                    id: id, poolID: poolID, clientID: clientID, subject: sessions.subject, spared: sessions.spared,
                    notedAt: now(), endsSignInsUntil: sessions.signedInUntil))
        } catch {
            // It may be stored all the same.
            state.withLock { _ = $0.done.insert(id) }
            throw error
        }
        return id
    }

    /// The sessions have ended, or the password was not set. A change that cannot be removed now is later.
    func finish(_ id: [UInt8]) async throws {
        state.withLock { _ = $0.done.insert(id) }
        try await records.remove(id)
        forget(id)
    }

    /// Removes those that are done and could not be removed before.
    func removeDone() async throws {
        for id in state.withLock({ $0.done }) { try await finish(id) }
    }

    /// The sessions are left to ``leftOver(poolID:clientID:patience:)``.
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

    /// The changes whose sessions nobody ends any more.
    ///
    /// - Parameter patience: for how many seconds a change may be under way at another gateway, which nobody here knows.
    func leftOver(poolID: String, clientID: String, patience: Int64) async throws -> [PasswordChangeRecord] {
        let stored = try await records.all(poolID: poolID, clientID: clientID, limit: Self.takenAtOnce)
        return leftOver(of: stored, notedUntil: now() - patience)
    }
}

/// The sessions that end with a new password.
struct EndedByPassword: Sendable {
    /// Nil where the gateway does not know whose password it is: then none does.
    var subject: String?
    /// The `origin_jti` of the session that goes on; nil: none does.
    var spared: String?
    /// Sign-ins up to then end, in seconds since 1970.
    var signedInUntil: Int64
}
