internal import Encoding
internal import Locking
internal import Pipeline

/// The sign-ins that were put on the revocation list one by one, for as long as their entries last. After so many of one
/// user, one entry takes all up to the newest: nobody fills the list by signing in and out.
///
/// Held in memory: each process lets as many through.
final class SinglyRevokedSignIns: Sendable {
    private static let atMost = 64

    /// When the entry of a sign-in ends, by the user and the sign-in's `origin_jti`.
    private let users: Locked<ExpiringTable<[ExactText: Int64]>>

    init(capacity: Int = 50_000) {
        users = Locked(ExpiringTable(capacity: capacity))
    }

    /// The revocations that end sign-ins of one user. They count from now on.
    ///
    /// - Parameters:
    ///   - origins: the `origin_jti` of each.
    ///   - newest: when the newest of them began, in seconds since 1970, as all times here.
    ///   - own: the `origin_jti` of a sign-in that one entry for all leaves out.
    ///   - endsAt: when the entries end.
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

    /// Whether they may have an entry each.
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
