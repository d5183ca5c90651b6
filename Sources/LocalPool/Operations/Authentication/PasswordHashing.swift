internal import Cryptography
internal import Encoding
internal import NIOPosix

/// The password hash function, a parameter so that other tests avoid its cost.
struct PasswordHashing: Sendable {
    let make: @Sendable (Secret) throws -> String
    let matches: @Sendable (Secret, String) -> Bool

    /// - Parameter cost: the base-2 logarithm of scrypt's N.
    static func scrypt(cost: UInt64) -> PasswordHashing {
        PasswordHashing(
            make: { try PasswordHash.make($0, logN: cost) }, matches: { PasswordHash.matches($0, $1) })
    }

    /// Hashing takes tens of milliseconds of CPU, so it runs on threads that no other task needs.
    func matchesOffThread(_ password: String, _ stored: String) async throws -> Bool {
        try await NIOThreadPool.singleton.runIfActive { matches(Secret(password), stored) }
    }

    /// The credentials to store for a new password.
    ///
    /// - Parameter salt: 16 random bytes, for SRP; the hash has a salt of its own.
    func credentials(
        _ password: Secret, identity: SRPIdentity, salt: [UInt8]
    ) throws -> UserRecord.Credentials {
        UserRecord.Credentials(
            passwordHash: try make(password), srp: try Self.srp(password, identity: identity, salt: salt))
    }

    static func srp(
        _ password: Secret, identity: SRPIdentity, salt: [UInt8]
    ) throws -> UserRecord.SRPCredentials {
        let salt = SRPNumber(salt)
        return UserRecord.SRPCredentials(
            salt: salt, verifier: try identity.verifier(salt: salt, password: password))
    }
}
