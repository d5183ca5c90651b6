internal import Cryptography
internal import Locking

/// Apple's grants for sign-ins that could not be stored here, for as long as the same sign-in may be tried again. A
/// code is exchanged only once, and without its grant the consent could never be revoked.
final class UnusedGrants: Sendable {
    /// As many as a store that is away for minutes may leave.
    static let limit = 10_000

    private struct Grant {
        var refreshToken: Secret
        var endsAt: Int64
    }

    private let grants = Locked<[[UInt8]: Grant]>([:])

    /// - Parameters:
    ///   - proof: SHA-256 of the identity token.
    ///   - endsAt: when that counts no more, in seconds since 1970.
    /// - Returns: false where there is no room.
    func keep(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, now: Int64) -> Bool {
        grants.withLock { grants in
            if grants.count >= Self.limit { grants = grants.filter { $0.value.endsAt > now } }
            guard grants.count < Self.limit else { return false }
            grants[proof] = Grant(refreshToken: refreshToken, endsAt: endsAt)
            return true
        }
    }

    /// Takes out the refresh token kept for a sign-in; nil if there is none.
    func take(for proof: [UInt8], now: Int64) -> Secret? {
        grants.withLock { grants in
            guard !grants.isEmpty, let grant = grants.removeValue(forKey: proof), grant.endsAt > now else { return nil }
            return grant.refreshToken
        }
    }
}
