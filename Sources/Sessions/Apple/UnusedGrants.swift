internal import Cryptography
internal import Locking

/// Apple's grants of sign-ins that could not be stored, held as long as the same sign-in may be retried. A code can be
/// exchanged only once, and without its grant the consent could never be withdrawn.
final class UnusedGrants: Sendable {
    /// Enough for a store that is unavailable for minutes.
    static let limit = 10_000

    struct Held: Sendable {
        /// SHA-256 of the identity token.
        var proof: [UInt8]
        var refreshToken: Secret
        /// When the identity token expires, in seconds since 1970.
        var endsAt: Int64
    }

    private struct State {
        var grants: [[UInt8]: Held] = [:]
        /// Whether a task is storing them for other gateways.
        var isSharing = false
    }

    private let state = Locked(State())

    /// - Parameters:
    ///   - proof: SHA-256 of the identity token.
    ///   - endsAt: when the identity token expires, in seconds since 1970.
    /// - Returns: false if the limit is reached.
    func keep(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, now: Int64) -> Bool {
        state.withLock { state in
            if state.grants.count >= Self.limit { state.grants = state.grants.filter { $0.value.endsAt > now } }
            guard state.grants.count < Self.limit else { return false }
            state.grants[proof] = Held(proof: proof, refreshToken: refreshToken, endsAt: endsAt)
            return true
        }
    }

    /// Removes and returns the refresh token held for a sign-in; nil if there is none.
    func take(for proof: [UInt8], now: Int64) -> Secret? {
        state.withLock { state in
            guard !state.grants.isEmpty, let grant = state.grants.removeValue(forKey: proof), grant.endsAt > now else {
                return nil
            }
            return grant.refreshToken
        }
    }

    // MARK: Other gateways

    /// - Returns: false if sharing is already in progress.
    func beginSharing() -> Bool {
        state.withLock { state in
            defer { state.isSharing = true }
            return !state.isSharing
        }
    }

    /// Whether anything is left to share. If not, sharing has ended.
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
