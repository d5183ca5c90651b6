internal import Encoding
internal import Locking
internal import Pipeline

/// The sign-ins that were put on the revocation list one by one, for as long as their entries last. After 64 of one
/// user, a single entry covers all up to the newest, so that nobody fills the list by signing in and out.
///
/// Kept in memory: each process allows 64.
final class SinglyRevokedSignIns: Sendable {
    private static let atMost = 64

    /// The expiry of each sign-in's entry, by the user and the sign-in's `origin_jti`.
    private let users: Locked<ExpiringTable<[ExactText: Int64]>>

    init(capacity: Int = 50_000) {
        users = Locked(ExpiringTable(capacity: capacity))
    }

    /// Returns the revocations that end sign-ins of one user, and counts them.
    ///
    /// - Parameters:
    ///   - origins: the `origin_jti` of each.
    ///   - newest: the time of the newest sign-in; all times here are in seconds since 1970.
    ///   - own: the `origin_jti` of a sign-in that a single entry for all excludes.
    ///   - endsAt: the expiry of the entries.
    func targets(
        for origins: Set<String>, of subject: String, signedInUntil newest: Int64, sparing own: String? = nil,
        until endsAt: Int64, at now: Int64
    ) -> [Revocation.Target] {
        guard !admits(origins, of: subject, until: endsAt, at: now) else {
            return origins.sorted().map(Revocation.Target.originID)
        }
        let all: Revocation.Target =
            own.map { .otherSignIns(subject, before: newest, sparing: $0) } ?? .subject(subject, before: newest)
        return [all]
    }

    /// Returns whether each sign-in may have an entry, and counts the entries if so.
    private func admits(_ origins: Set<String>, of subject: String, until endsAt: Int64, at now: Int64) -> Bool {
        users.withLock { users in
            var known = (users.value(of: subject, at: now) ?? [:]).filter { $0.value > now }
            for origin in origins { known[ExactText(origin)] = endsAt }
            guard known.count <= Self.atMost else { return false }
            if !origins.isEmpty { users.set(known, of: subject, endsAt: endsAt, at: now) }
            return true
        }
    }
}
