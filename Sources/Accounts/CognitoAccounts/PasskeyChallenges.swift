internal import Encoding
internal import Locking

/// The form of Cognito's passkey challenges. Made-up ones have it too: a longer one would tell that there is no such
/// user.
final class PasskeyChallenges: Sendable {
    /// The fewest bytes that WebAuthn allows (Level 3, 13.4.3), which is also what Cognito uses.
    private let byteCount = Locked(16)
    private let random: @Sendable (Int) -> [UInt8]

    /// - Parameter random: gives as many random bytes as asked for, from a cryptographic source.
    init(random: @escaping @Sendable (Int) -> [UInt8]) { self.random = random }

    /// Notes the length of one of Cognito's.
    func note(_ challenge: String) {
        guard let count = Base64URL.decode(challenge.utf8)?.count, (16...512).contains(count) else { return }
        byteCount.withLock { $0 = count }
    }

    /// One that nothing answers.
    func invented() -> String { Base64URL.encode(random(byteCount.withLock { $0 })) }
}
