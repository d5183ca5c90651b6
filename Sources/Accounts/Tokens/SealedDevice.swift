internal import Cognito
internal import Cryptography
internal import Encoding
internal import Sealing

/// The device token of a client: the credentials of its device, for one user.
///
/// It is not the `device_id`, which is not a secret: if a remembered device replaces the second factor, anybody with
/// the password and a known `device_id` could sign in.
struct SealedDevice: Sendable, Equatable {
    var credentials: DeviceCredentials
    /// The user's name in the pool.
    var username: String
    /// The account's name as typed when the device became known.
    var account: String
    /// The expiry in seconds since 1970. Tokens from before they had an expiry cannot be unsealed.
    var expiresAt: Int64

    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        var writer = ByteWriter()
        guard credentials.write(to: &writer), writer.write(text: username), writer.write(text: account) else {
            throw SealingFailure()
        }
        writer.write(integer: expiresAt)
        return try SealedText.seal(writer.bytes, as: .device, with: keys, poolID: poolID)
    }

    func hasExpired(at now: Int64) -> Bool { now >= expiresAt }
}

extension SealedDevice {
    init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        var reader = ByteReader(try SealedText.open(text, as: .device, with: keys, poolID: poolID))
        guard let credentials = DeviceCredentials(&reader), let username = reader.readText(),
            let account = reader.readText(), let expiresAt = reader.readInteger(), reader.isAtEnd
        else { throw InvalidSealedToken() }
        self.init(credentials: credentials, username: username, account: account, expiresAt: expiresAt)
    }
}

extension DeviceCredentials {
    func write(to writer: inout ByteWriter) -> Bool {
        writer.write(text: key) && writer.write(text: groupKey) && writer.write(field: password.expose())
    }

    init?(_ reader: inout ByteReader) {
        guard let key = reader.readText(), let groupKey = reader.readText(), let password = reader.readField() else {
            return nil
        }
        self.init(key: key, groupKey: groupKey, password: Secret(password))
    }
}
