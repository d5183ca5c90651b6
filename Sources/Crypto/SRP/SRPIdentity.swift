/// The identity whose password is proven: a user in a pool, or a device in its group.
package struct SRPIdentity: Sendable, Equatable {
    /// Both parts, concatenated as the hashes need them.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - poolID: The pool's ID; only the part after its underscore is used.
    ///   - userID: `USER_ID_FOR_SRP` of the challenge, which is not what the user typed.
    package init(poolID: String, userID: String) {
        let name = poolID.firstIndex(of: "_").map { poolID[poolID.index(after: $0)...] } ?? poolID[...]
        bytes = Array(name.utf8) + Array(userID.utf8)
    }

    package init(deviceGroupKey: String, deviceKey: String) {
        bytes = Array(deviceGroupKey.utf8) + Array(deviceKey.utf8)
    }

    /// The verifier of this identity and password for a salt, which is stored instead of the password.
    ///
    /// - Parameter salt: 16 random bytes.
    package func verifier(
        salt: SRPNumber, password: Secret
    ) throws(CryptographyError) -> SRPNumber {
        try SRP.verifier(SRP.privateKey(salt: salt, identity: self, password: password))
    }

    /// `HMAC-SHA-256(K, identity ‖ secret block ‖ timestamp)`, which proves the password.
    func signature(key: [UInt8], secretBlock: [UInt8], timestamp: String) -> [UInt8] {
        HMACSHA256.authenticationCode(for: bytes + secretBlock + Array(timestamp.utf8), key: key)
    }
}
