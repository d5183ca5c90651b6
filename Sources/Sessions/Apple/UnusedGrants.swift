internal import Cryptography
internal import Locking

/// Apple's grants for sign-ins that could not be stored here, for as long as the same sign-in may be tried again. A
/// code is exchanged only once, and without its grant the consent could never be revoked.
final class UnusedGrants: Sendable {
    /// As many as a store that is away for minutes may leave.
    static let limit = 10_000

    struct Held: Sendable {
        /// SHA-256 of the identity token.
        var proof: [UInt8]
        var refreshToken: Secret
        /// When the identity token counts no more, in seconds since 1970.
        var endsAt: Int64
    }

    private struct State {
        var grants: [[UInt8]: Held] = [:]
        /// Whether someone is about to store them for other gateways.
        var isSharing = false
    }

    private let state = Locked(State())

    /// - Parameters:
    ///   - proof: SHA-256 of the identity token.
    ///   - endsAt: when that counts no more, in seconds since 1970.
    /// - Returns: false where there is no room.
    func keep(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, now: Int64) -> Bool {
        state.withLock { state in
            if state.grants.count >= Self.limit { state.grants = state.grants.filter { $0.value.endsAt > now } }
            guard state.grants.count < Self.limit else { return false }
            state.grants[proof] = Held(proof: proof, refreshToken: refreshToken, endsAt: endsAt)
            return true
        }
    }

    /// Takes out the refresh token kept for a sign-in; nil if there is none.
    func take(for proof: [UInt8], now: Int64) -> Secret? {
        state.withLock { state in
            guard !state.grants.isEmpty, let grant = state.grants.removeValue(forKey: proof), grant.endsAt > now else {
                return nil
            }
            return grant.refreshToken
        }
    }

    // MARK: Other gateways

    /// - Returns: false where someone shares them already.
    func beginSharing() -> Bool {
        state.withLock { state in
            defer { state.isSharing = true }
            return !state.isSharing
        }
    }

    /// Whether there is anything left to share. If not, the sharing has ended.
    func goesOnSharing(now: Int64) -> Bool {
        state.withLock { state in
            state.grants = state.grants.filter { $0.value.endsAt > now }
            state.isSharing = !state.grants.isEmpty
            return state.isSharing
        }
    }

    func endSharing() { state.withLock { $0.isSharing = false } }

    func all(now: Int64) -> [Held] { state.withLock { $0.grants.values.filter { $0.endsAt > now } } }

    func remove(_ held: Held) { state.withLock { $0.grants[held.proof] = nil } }
}
