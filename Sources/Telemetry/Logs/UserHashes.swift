package import Cryptography
internal import Encoding

/// The names of users in the logs: the same in all of them for the same user, and meaningless without the key.
///
/// Subjects and e-mail addresses can be listed and tried, so that a plain hash of one would say whose it is.
package struct UserHashes: Sendable {
    private let key: Secret

    package init(key: Secret) {
        self.key = key
    }

    /// The first 32 hex digits of HMAC-SHA256 over `subject`, NUL and the user's `sub`.
    package func hash(ofSubject subject: String) -> String { code("subject", subject) }

    /// The same over `account`, NUL and the name in lower case.
    package func hash(ofAccount account: String) -> String { code("account", account.foldedCase) }

    private func code(_ kind: String, _ value: String) -> String {
        let message = Array(kind.utf8) + [0] + Array(value.utf8)
        let code = HMACSHA256.authenticationCode(for: message, key: self.key.expose())
        return Hexadecimal.encode(Array(code.prefix(16)))
    }
}
