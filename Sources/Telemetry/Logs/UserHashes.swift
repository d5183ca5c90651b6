package import Cryptography
internal import Encoding
internal import Locking

/// Keyed hashes of users for logs: the same for the same user in all logs, and meaningless without the key.
///
/// Subjects and email addresses can be enumerated, so an unkeyed hash would reveal the user.
package final class UserHashes: Sendable {
    private struct State {
        var key: Secret
        var generation = 0
    }

    private let state: Locked<State>

    package init(key: Secret) {
        state = Locked(State(key: key))
    }

    /// Uses another key from now on.
    package func adopt(key: Secret) {
        state.withLock { state in
            state.key = key
            state.generation += 1
        }
    }

    /// A number that changes with the key. Hashes of different generations cannot be compared.
    var generation: Int { state.withLock { $0.generation } }

    /// Returns the first 32 hex digits of HMAC-SHA256 over `subject`, NUL and the user's `sub`.
    package func hash(ofSubject subject: String) -> String { code("subject", subject) }

    /// Returns the same over `account`, NUL and the account's name in lower case.
    package func hash(ofAccount account: String) -> String { code("account", account.foldedCase) }

    private func code(_ kind: String, _ value: String) -> String {
        let message = Array(kind.utf8) + [0] + Array(value.utf8)
        let code = HMACSHA256.authenticationCode(for: message, key: state.withLock { $0.key }.expose())
        return Hexadecimal.encode(Array(code.prefix(16)))
    }
}
