internal import Cognito
internal import Cryptography
internal import Sealing

/// The refresh token of a client: the provider's refresh token, and everything else that a refresh needs.
///
/// The store's record of a family of such tokens only shows whether this one is the newest.
struct SealedRefreshToken: Sendable {
    var clientID: String
    /// The access token's `username`, over which SECRET_HASH is computed at a refresh: often not the typed name.
    var username: String
    /// The access token's `sub`.
    var subject: String
    /// The access tokens' `origin_jti`, which all tokens of one sign-in share; nil if the pool's tokens have none.
    var originID: String?
    /// The provider's refresh token.
    var refreshToken: Secret
    /// The `device_id` of the sign-in; nil if it named none.
    var deviceID: String?
    /// The pool's key of the device; nil if the pool does not track it. The pool accepts the refresh token of a tracked
    /// device only with this key.
    var deviceKey: String?
    /// 16 random bytes that all tokens of one sign-in share.
    var family: [UInt8]
    /// The number of tokens of the family before this one.
    var generation: Int64
    /// The time of the sign-in, in seconds since 1970: by the gateway's clock or the provider's, whichever is later.
    var issuedAt: Int64
    /// The time after which no refresh is possible, in seconds since 1970. A refresh does not extend it.
    var expiresAt: Int64

    /// Returns the text form, sealed with the ring's first key.
    ///
    /// - Throws: ``SealingFailure`` if OpenSSL fails, or if the text would be too long to open again.
    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        guard let plain = encoded() else { throw SealingFailure() }
        let text = try SealedText.seal(plain, as: .refreshToken, with: keys, poolID: poolID)
        guard text.expose().count <= SealedText.maximumLength else { throw SealingFailure() }
        return text
    }

    /// Unseals a text form. The caller must check whether the token has expired: see ``hasExpired(at:)``.
    init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        let plain = try SealedText.open(text, as: .refreshToken, with: keys, poolID: poolID)
        guard let token = Self(decoding: plain) else { throw InvalidSealedToken() }
        self = token
    }

    /// The values for a refresh at Cognito.
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
