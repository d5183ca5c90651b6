internal import Cryptography

/// The fake data of an unknown user: constant for each user name, and different between user names.
struct Pretence {
    let sub: String
    let credentials: UserRecord.SRPCredentials

    init(username: String, key: Secret) {
        func bytes(_ what: String, _ count: Int) -> [UInt8] {
            HKDFSHA256.derive(
                from: key.expose(), salt: Array(username.utf8), info: Array(what.utf8), byteCount: count)
        }
        sub = RandomIdentifier.uuid(from: bytes("sub", 16))
        credentials = UserRecord.SRPCredentials(
            salt: SRPNumber(bytes("salt", 16)), verifier: SRPNumber(bytes("verifier", 383)))
    }
}
