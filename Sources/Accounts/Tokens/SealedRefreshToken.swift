internal import Cognito
internal import Cryptography
internal import Sealing

/// The refresh token that a client holds: the provider's own refresh token, and everything else that a refresh needs.
///
/// The store's records of a family of such tokens only show whether this one is the newest.
struct SealedRefreshToken: Sendable {
    var clientID: String
    /// The access token's `username`, which SECRET_HASH needs at refresh: often not what the user typed.
    var username: String
    /// The access token's `sub`.
    var subject: String
    /// The access tokens' `origin_jti`, the same for all that come from one sign-in; `nil` where the pool gives none.
    var originID: String?
    /// The provider's refresh token.
    var refreshToken: Secret
    /// The `device_id` of the sign-in, if it named one.
    var deviceID: String?
    /// The pool's own key for the device, without which it takes no refresh token of a device that it tracks.
    var deviceKey: String?
    /// The same for all tokens that came from one sign-in: 16 random bytes.
    var family: [UInt8]
    /// How many tokens of the family came before this one.
    var generation: Int64
    /// When the user signed in, in seconds since 1970: by the gateway's clock or the provider's, whichever is later.
    var issuedAt: Int64
    /// When refreshing ends, in seconds since 1970. Refreshing does not move it.
    var expiresAt: Int64

    /// The text form, sealed with the ring's first key.
    ///
    /// - Throws: ``SealingFailure`` if OpenSSL fails, or if the text would be too long to open again.
    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        guard let plain = encoded() else { throw SealingFailure() }
        let text = try SealedText.seal(plain, as: .refreshToken, with: keys, poolID: poolID)
        guard text.expose().count <= SealedText.maximumLength else { throw SealingFailure() }
        return text
    }

    /// Opens a text form. Whether it has expired is the caller's to check: see ``hasExpired(at:)``.
    init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        let plain = try SealedText.open(text, as: .refreshToken, with: keys, poolID: poolID)
        guard let token = Self(decoding: plain) else { throw InvalidSealedToken() }
        self = token
    }

    /// The values that Cognito is asked to refresh with.
    var provided: ProviderRefreshToken {
        ProviderRefreshToken(refreshToken, username: username, deviceKey: deviceKey)
    }

    func hasExpired(at now: Int64) -> Bool { now >= expiresAt }
}

extension SealedRefreshToken {
    init(
        clientID: String, username: String, subject: String, originID: String?, refreshToken: Secret,
        deviceID: String?, deviceKey: String?, family: [UInt8], generation: Int64, issuedAt: Int64, expiresAt: Int64
    ) {
        self.clientID = clientID
        self.username = username
        self.subject = subject
        self.originID = originID
        self.refreshToken = refreshToken
        self.deviceID = deviceID
        self.deviceKey = deviceKey
        self.family = family
        self.generation = generation
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    private func encoded() -> [UInt8]? {
        var writer = ByteWriter()
        let written =
            writer.write(text: clientID) && writer.write(text: username) && writer.write(text: subject)
            && writer.write(optional: originID) && writer.write(field: refreshToken.expose())
            && writer.write(optional: deviceID) && writer.write(optional: deviceKey) && writer.write(field: family)
        guard written else { return nil }
        writer.write(integer: generation)
        writer.write(integer: issuedAt)
        writer.write(integer: expiresAt)
        return writer.bytes
    }

    private init?(decoding plain: [UInt8]) {
        var reader = ByteReader(plain)
        guard let clientID = reader.readText(), let username = reader.readText(), let subject = reader.readText(),
            let originID = reader.readOptional(), let refreshToken = reader.readField(),
            let deviceID = reader.readOptional(), let deviceKey = reader.readOptional(),
            let family = reader.readField(), let generation = reader.readInteger(),
            let issuedAt = reader.readInteger(), let expiresAt = reader.readInteger(), reader.isAtEnd
        else { return nil }
        self.init(
            clientID: clientID, username: username, subject: subject, originID: originID.text,
            refreshToken: Secret(refreshToken), deviceID: deviceID.text, deviceKey: deviceKey.text, family: family,
            generation: generation, issuedAt: issuedAt, expiresAt: expiresAt)
    }
}
