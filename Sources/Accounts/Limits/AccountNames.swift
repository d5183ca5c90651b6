package import Cryptography
internal import Encoding
internal import Locking
package import Logging
package import Store

/// The users by their sign-in names, for calls that set a new password with a code: these have only the name.
///
/// A name is stored at a sign-in and at a refresh, when Cognito has shown its user. A name that the pool has not
/// verified is never stored: otherwise somebody could pass for the owner of another user's address.
package final class AccountNames: Sendable {
    /// The longest lifetime of a refresh token, in seconds: ten years.
    private static let lifetime: Int64 = 3650 * 86_400
    /// The seconds after which a name is written again.
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
    ///   - key: the key of the hashes that replace names in the store.
    ///   - now: seconds since 1970.
    package init(
        key: Secret, records: any AccountNameRecords, logger: Logger, now: @escaping @Sendable () -> Int64
    ) {
        keys = LimitKeys(key)
        self.records = records
        self.logger = logger
        self.now = now
    }

    /// Stores the names of a user who has signed in or refreshed.
    ///
    /// - Parameter typed: the name that the sign-in began with, and under which Cognito has signed the user in; nil if
    ///   there is none.
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

    /// Stores the user of these names. For a name that was another user's, both users and the exact spelling are
    /// stored.
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
            // The user who was displaced first stays, so that a third user displaces nobody.
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

    /// Returns the `sub` of each user who has signed in under a name, in any letter case, or has otherwise proven to
    /// own it. The last user to sign in under exactly this name comes first.
    func subjects(named name: String, poolID: String) async throws -> [String] {
        let key = keys.accountName(name, in: poolID)
        let names = [keys.accountName(exactly: name, in: poolID), key, keys.otherUser(ofName: key)]
        var subjects: [String] = []
        for case .some(let subject) in try await records.subjects(named: names, poolID: poolID)
        where !subjects.contains(where: { isSame($0, subject) }) { subjects.append(subject) }
        return subjects
    }

    /// Returns whether names, in any letter case, belong to one user and never belonged to another; false if the store
    /// cannot be read.
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
    /// Returns the name that a sign-in began with, and those that the pool has verified.
    func names(typed: String?) -> [String] {
        var names = [typed, username].compactMap { $0 }
        if emailVerified, let email { names.append(email) }
        if attributes["phone_number_verified"] == true, let phone = attributes["phone_number"]?.stringValue {
            names.append(phone)
        }
        return names
    }
}
