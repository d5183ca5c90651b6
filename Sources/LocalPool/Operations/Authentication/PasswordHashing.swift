internal import Cryptography
internal import NIOPosix

/// How passwords are hashed: a parameter, so that tests of other things need not pay for it.
struct PasswordHashing: Sendable {
    let make: @Sendable (Secret) throws -> String
    let matches: @Sendable (Secret, String) -> Bool

    static let scrypt = PasswordHashing(
        make: { try PasswordHash.make($0) }, matches: { PasswordHash.matches($0, $1) })

    /// Hashing computes for tens of milliseconds, so it runs on threads that no other task waits for.
    func makeOffThread(_ password: String) async throws -> String {
        try await NIOThreadPool.singleton.runIfActive { try make(Secret(password)) }
    }

    func matchesOffThread(_ password: String, _ stored: String) async throws -> Bool {
        try await NIOThreadPool.singleton.runIfActive { matches(Secret(password), stored) }
    }
}
