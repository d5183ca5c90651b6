internal import Cognito
internal import Encoding
internal import Locking

extension TranslatedCall {
    /// Whether it ends all sessions of its user.
    var endsAllSessions: Bool { operation.isOne(of: ["GlobalSignOut", "DeleteUser"]) }
}

/// Attempts to end all sessions of a user that an app has to repeat, by digests of their access tokens. Cognito revokes
/// the token together with the sessions, so it refuses the repetition of a successful attempt.
///
/// Kept in memory for ten minutes: a repetition at another gateway, or after a restart, gets Cognito's refusal and ends
/// nothing.
final class UnfinishedSignOuts: Sendable {
    struct Attempt: Sendable {
        /// Whether Cognito has carried it out; false if the response was lost.
        var isCarriedOut: Bool
        /// The time of the attempt in seconds since 1970: later sessions continue.
        var time: Int64
    }

    private static let capacity = 10_000
    private static let lifetime: Int64 = 600

    private let table = Locked(ExpiringTable<Attempt>(capacity: capacity))
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    func note(_ attempt: Attempt, of call: TranslatedCall) {
        guard let key = key(call) else { return }
        let now = now()
        table.withLock { $0.set(attempt, of: key, endsAt: now + Self.lifetime, at: now) }
    }

    func attempt(of call: TranslatedCall) -> Attempt? {
        guard let key = key(call) else { return nil }
        let now = now()
        return table.withLock { $0.value(of: key, at: now) }
    }

    /// Removes an attempt whose access tokens are revoked.
    func finish(_ call: TranslatedCall) {
        guard let key = key(call) else { return }
        table.withLock { $0.remove(key) }
    }

    private func key(_ call: TranslatedCall) -> String? {
        guard call.endsAllSessions, let digest = call.tokenDigest else { return nil }
        return "\(call.operation)/\(digest)"
    }
}
