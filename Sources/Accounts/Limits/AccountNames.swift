package import Cryptography
internal import Encoding
internal import Locking
package import Logging
package import Store

/// The users by their names for sign-in: a call that sets a new password by a code has the name only.
///
/// A name is noted at a sign-in and at a refresh, when Cognito has shown whose it is. One that the pool has not proven is
/// never noted: else somebody could pass for the owner of another one's address.
package final class AccountNames: Sendable {
    /// The longest life of a refresh token, in seconds: ten years.
    private static let lifetime: Int64 = 3650 * 86_400
    /// After so many seconds a name is written again.
    private static let interval: Int64 = 86_400
    private static let capacity = 100_000

    private let keys: LimitKeys
    private let records: any AccountNameRecords
    /// In seconds since 1970.
    private let now: @Sendable () -> Int64
    private let logger: Logger
    /// The names that are stored, with their subjects.
    private let stored = Locked(ExpiringTable<String>(capacity: capacity))

    /// - Parameters:
    ///   - key: makes what is stored tell nothing of whom.
    ///   - now: seconds since 1970.
    package init(
        key: Secret, records: any AccountNameRecords, logger: Logger, now: @escaping @Sendable () -> Int64
    ) {
        keys = LimitKeys(key)
        self.records = records
        self.logger = logger
        self.now = now
    }

    /// Notes a sign-in or a refresh.
    ///
    /// - Parameter typed: the name that the sign-in began with, under which Cognito has signed the user in; nil where
    ///   there was none.
    func note(_ user: AccountUser, typed: String?, poolID: String) async {
        let now = now()
        let names = Set(user.names(typed: typed).map { keys.accountName($0, in: poolID) })
        let new = stored.withLock { stored in
            names.filter { stored.value(of: $0, at: now).map { !$0.hasSameBytes(as: user.id) } ?? true }.sorted()
        }
        guard !new.isEmpty else { return }
        do {
            try await note(new, of: user, typed: typed, poolID: poolID, endsAt: now + Self.lifetime)
            stored.withLock { stored in
                for name in new { stored.set(user.id, of: name, endsAt: now + Self.interval, at: now) }
            }
        } catch {
            logger.error("a user's names were not stored", metadata: ["error": "\(error)"])
        }
    }

    /// Stores whose names these are. Of a name that was another user's, both are stored, and the exact spelling.
    ///
    /// - Parameter new: the names' keys.
    private func note(
        _ new: [String], of user: AccountUser, typed: String?, poolID: String, endsAt: Int64
    ) async throws {
        let known = try await records.subjects(named: new + new.map(keys.otherUser(ofName:)), poolID: poolID)
        var shared: [String] = []
        for (index, key) in new.enumerated() {
            let others = [known[index], known[new.count + index]].map { $0.flatMap { isSame($0, user.id) ? nil : $0 } }
            guard let other = others[1] ?? others[0] else { continue }
            shared.append(key)
            // The one who was displaced first stays, so that a third user displaces nobody.
            if case .none = others[1] {
                try await records.note([keys.otherUser(ofName: key)], of: other, poolID: poolID, endsAt: endsAt)
            }
        }
        let exact = user.names(typed: typed).filter { name in
            let key = keys.accountName(name, in: poolID)
            return shared.contains { isSame($0, key) }
        }
        try await records.note(
            new + exact.map { keys.accountName(exactly: $0, in: poolID) }, of: user.id, poolID: poolID, endsAt: endsAt)
    }

    /// The `sub` of the users who have signed in by a name, in any case, or have proven it otherwise; the last one who
    /// has signed in by exactly this one first.
    func subjects(named name: String, poolID: String) async throws -> [String] {
        let key = keys.accountName(name, in: poolID)
        let names = [keys.accountName(exactly: name, in: poolID), key, keys.otherUser(ofName: key)]
        var subjects: [String] = []
        for case .some(let subject) in try await records.subjects(named: names, poolID: poolID)
        where !subjects.contains(where: { isSame($0, subject) }) { subjects.append(subject) }
        return subjects
    }

    /// Whether names, in any case, are of one user, and of nobody else before. Where nobody can say, they are not.
    func areOnly(_ names: [String], of subject: String, poolID: String) async -> Bool {
        let keys = names.map { self.keys.accountName($0, in: poolID) }
        do {
            let found = try await records.subjects(named: keys + keys.map(self.keys.otherUser(ofName:)), poolID: poolID)
            return found.allSatisfy { $0.map { isSame($0, subject) } ?? true }
        } catch {
            report(error)
            return false
        }
    }

    func report(_ error: any Error) {
        logger.error("users' names cannot be looked up", metadata: ["error": "\(error)"])
    }

    private func isSame(_ one: String, _ other: String) -> Bool { one.hasSameBytes(as: other) }
}

extension AccountUser {
    /// The name that a sign-in began with, and those that the pool itself has made sure of.
    func names(typed: String?) -> [String] {
        var names = [typed, username].compactMap { $0 }
        if emailVerified, let email { names.append(email) }
        if attributes["phone_number_verified"] == true, let phone = attributes["phone_number"]?.stringValue {
            names.append(phone)
        }
        return names
    }
}
