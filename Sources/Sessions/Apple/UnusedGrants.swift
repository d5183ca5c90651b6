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

    private let held = Locked<[[UInt8]: Grant]>([:])

    /// - Parameters:
    ///   - proof: SHA-256 of the identity token.
    ///   - endsAt: when that counts no more, in seconds since 1970.
    /// - Returns: false where there is no room.
    func keep(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, now: Int64) -> Bool {
        held.withLock { held in
            if held.count >= Self.limit { held = held.filter { $0.value.endsAt > now } }
            guard held.count < Self.limit else { return false }
            held[proof] = Grant(refreshToken: refreshToken, endsAt: endsAt)
            return true
        }
    }

    /// Takes out the refresh token kept for a sign-in; nil if there is none.
    func take(for proof: [UInt8], now: Int64) -> Secret? {
        held.withLock { held in
            guard !held.isEmpty, let grant = held.removeValue(forKey: proof), grant.endsAt > now else { return nil }
            return grant.refreshToken
        }
    }
}
