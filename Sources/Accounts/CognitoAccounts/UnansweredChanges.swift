internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// Password changes to complete when the same call is repeated: Cognito's response was lost, or the other sessions
/// could not be ended. Only the repeated call can show whether a change was made: nobody gets a second guess at a
/// password this way.
///
/// Kept in memory for ten minutes under keyed hashes, which reveal nothing about the passwords without the process's
/// key.
final class UnansweredChanges: Sendable {
    private static let capacity = 10_000
    private static let lifetime: Int64 = 600

    private let key: Secret
    private let table = Locked(ExpiringTable<Bool>(capacity: capacity))
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - random: returns the requested number of bytes from a cryptographic source.
    init(now: @escaping @Sendable () -> Int64, random: @Sendable (Int) -> [UInt8]) {
        key = Secret(random(32))
        self.now = now
    }

    func note(_ change: PasswordChange, of subject: String) {
        let (code, now) = (code(change, subject), now())
        table.withLock { $0.set(true, of: code, endsAt: now + Self.lifetime, at: now) }
    }

    func contains(_ change: PasswordChange, of subject: String) -> Bool {
        let (code, now) = (code(change, subject), now())
        return table.withLock { $0.value(of: code, at: now) != nil }
    }

    /// - Returns: whether the change was stored.
    @discardableResult
    func remove(_ change: PasswordChange, of subject: String) -> Bool {
        let (code, now) = (code(change, subject), now())
        return table.withLock { table in
            guard table.value(of: code, at: now) != nil else { return false }
            table.remove(code)
            return true
        }
    }

    /// Computes the keyed hash. The lengths separate the parts.
    private func code(_ change: PasswordChange, _ subject: String) -> String {
        let parts = [subject, change.current.exposeText(), change.new.exposeText()]
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined(separator: ",")
        return Base64URL.encode(HMACSHA256.authenticationCode(for: Array(text.utf8), key: key.expose()))
    }
}
