internal import Cryptography
internal import Locking

/// What Apple gave for the codes of sign-ins that then could not be kept here, for as long as the same sign-in may be
/// tried again: a code is exchanged only once, and without what it gave the consent could never be taken back.
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

    /// What was kept for a sign-in, which has it from now on.
    func take(for proof: [UInt8], now: Int64) -> Secret? {
        held.withLock { held in
            guard !held.isEmpty, let grant = held.removeValue(forKey: proof), grant.endsAt > now else { return nil }
            return grant.refreshToken
        }
    }
}
