/// The side that proves the knowledge of a password: a user in a pool, or a device in its group.
package struct SRPIdentity: Sendable, Equatable {
    /// Both parts, one after the other, as the hashes take them.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - poolID: The pool's id; what is behind its underscore counts.
    ///   - userID: `USER_ID_FOR_SRP` of the challenge, which is not what the user typed.
    package init(poolID: String, userID: String) {
        let name = poolID.firstIndex(of: "_").map { poolID[poolID.index(after: $0)...] } ?? poolID[...]
        bytes = Array(name.utf8) + Array(userID.utf8)
    }

    package init(deviceGroupKey: String, deviceKey: String) {
        bytes = Array(deviceGroupKey.utf8) + Array(deviceKey.utf8)
    }

    /// A random salt's verifier for this identity and password: what is kept instead of the password.
    ///
    /// - Parameter salt: 16 random bytes.
    package func verifier(
        salt: SRPNumber, password: Secret
    ) throws(CryptographyError) -> SRPNumber {
        try SRP.verifier(SRP.privateKey(salt: salt, identity: self, password: password))
    }

    /// `HMAC-SHA-256(K, identity ‖ secret block ‖ timestamp)`: what proves the password.
    func signature(key: [UInt8], secretBlock: [UInt8], timestamp: String) -> [UInt8] {
        HMACSHA256.authenticationCode(for: bytes + secretBlock + Array(timestamp.utf8), key: key)
    }
}
