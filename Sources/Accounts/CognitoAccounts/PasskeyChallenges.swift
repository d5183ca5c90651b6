internal import Encoding
internal import Locking

/// The length of Cognito's passkey challenges. Invented challenges have the same length: any other would reveal that
/// the user does not exist.
final class PasskeyChallenges: Sendable {
    /// The minimum of WebAuthn (Level 3, 13.4.3), which Cognito uses too.
    private let byteCount = Locked(16)
    private let random: @Sendable (Int) -> [UInt8]

    /// - Parameter random: returns the requested number of bytes from a cryptographic source.
    init(random: @escaping @Sendable (Int) -> [UInt8]) { self.random = random }

    /// Stores the length of one of Cognito's challenges.
    func note(_ challenge: String) {
        guard let count = Base64URL.decode(challenge.utf8)?.count, (16...512).contains(count) else { return }
        byteCount.withLock { $0 = count }
    }

    /// Returns a random challenge, which no passkey response satisfies.
    func invented() -> String { Base64URL.encode(random(byteCount.withLock { $0 })) }
}
