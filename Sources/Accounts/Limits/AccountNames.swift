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
        let names = Set(([typed] + user.provenNames).compactMap { $0 }.map { keys.accountName($0, in: poolID) })
        let new = stored.withLock { stored in
            names.filter { stored.value(of: $0, at: now).map { !$0.hasSameBytes(as: user.id) } ?? true }.sorted()
        }
        guard !new.isEmpty else { return }
        do {
            try await records.note(new, of: user.id, poolID: poolID, endsAt: now + Self.lifetime)
            stored.withLock { stored in
                for name in new { stored.set(user.id, of: name, endsAt: now + Self.interval, at: now) }
            }
        } catch {
            logger.error("a user's names were not stored", metadata: ["error": "\(error)"])
        }
    }

    /// The `sub` of the user who has signed in by a name, or has proven it otherwise; nil where nobody has.
    func subject(named name: String, poolID: String) async throws -> String? {
        try await records.subject(named: keys.accountName(name, in: poolID), poolID: poolID)
    }
}

extension AccountUser {
    /// The names that the pool itself has made sure of.
    fileprivate var provenNames: [String] {
        var names = [username]
        if emailVerified, let email { names.append(email) }
        if attributes["phone_number_verified"] == true, let phone = attributes["phone_number"]?.stringValue {
            names.append(phone)
        }
        return names
    }
}
