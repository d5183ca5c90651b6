package import Cryptography
internal import Encoding
internal import Locking

/// The names of users in the logs: the same in all of them for the same user, and meaningless without the key.
///
/// Subjects and e-mail addresses can be listed and tried, so that a plain hash of one would say whose it is.
package final class UserHashes: Sendable {
    private struct State {
        var key: Secret
        var generation = 0
    }

    private let state: Locked<State>

    package init(key: Secret) {
        state = Locked(State(key: key))
    }

    /// From now on hashes with another key.
    package func adopt(key: Secret) {
        state.withLock { state in
            state.key = key
            state.generation += 1
        }
    }

    /// Another number with each key: hashes of different generations cannot be compared.
    var generation: Int { state.withLock { $0.generation } }

    /// The first 32 hex digits of HMAC-SHA256 over `subject`, NUL and the user's `sub`.
    package func hash(ofSubject subject: String) -> String { code("subject", subject) }

    /// The same over `account`, NUL and the name in lower case.
    package func hash(ofAccount account: String) -> String { code("account", account.foldedCase) }

    private func code(_ kind: String, _ value: String) -> String {
        let message = Array(kind.utf8) + [0] + Array(value.utf8)
        let code = HMACSHA256.authenticationCode(for: message, key: state.withLock { $0.key }.expose())
        return Hexadecimal.encode(Array(code.prefix(16)))
    }
}
