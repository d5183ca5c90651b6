package import Cryptography
internal import Pipeline

/// A text that does not open as a sealed refresh token, for whatever reason.
///
/// There is only one such error on purpose: telling a wrong key from a wrong tag or a wrong form would help nobody
/// but someone who tries out changed tokens.
package struct InvalidSealedToken: Error, Equatable, Sendable {}

/// A refresh token that could not be sealed: a fault of the gateway's or an absurdly long provider token.
package struct SealingFailure: Error, Equatable, Sendable {}

/// What a client holds as its refresh token: the provider's own refresh token and all that is needed to use it,
/// so that a refresh needs no state in the gateway.
///
/// Text form: `v1.` key id `.` base64url(nonce ‖ AES-256-GCM ciphertext ‖ tag). The additional authenticated data
/// binds form, purpose, key id and pool: a token of one pool does not open for another that shares the key.
package struct SealedRefreshToken: Sendable {
    /// The longest text that is looked at. Cognito's refresh tokens have about 1800 characters.
    static let maximumTextLength = 8192

    package var clientID: String
    /// The access token's `username`, which SECRET_HASH needs at refresh: often not what the user typed.
    package var username: String
    /// The provider's refresh token.
    package var refreshToken: Secret
    /// The `device_id` of the sign-in, if it named one.
    package var deviceID: String?
    /// The same for all tokens that came from one sign-in: 16 random bytes.
    package var family: [UInt8]
    /// When the user signed in, in seconds since 1970.
    package var issuedAt: Int64
    /// When refreshing ends, in seconds since 1970. Refreshing does not move it.
    package var expiresAt: Int64

    /// The text form, sealed with the ring's first key.
    ///
    /// - Throws: ``SealingFailure`` if OpenSSL fails, or if the text would be too long to open again.
    package func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        let key = keys.sealingKey
        guard let plain = encoded(),
            let box = try? key.key.seal(
                plain, authenticating: Self.authenticatedData(keyID: key.id, poolID: poolID))
        else { throw SealingFailure() }
        let text = "v1.\(key.id).\(Base64URL.encode(box))"
        guard text.utf8.count <= Self.maximumTextLength else { throw SealingFailure() }
        return Secret(text)
    }

    /// Opens a text form. Whether it has expired is the caller's to check: see ``hasExpired(at:)``.
    package init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        let bytes = text.expose()
        guard bytes.count <= Self.maximumTextLength else { throw InvalidSealedToken() }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("v1".utf8) else { throw InvalidSealedToken() }
        guard let key = keys.key(named: String(decoding: parts[1], as: UTF8.self)),
            let box = Base64URL.decode(parts[2]),
            let plain = try? key.key.open(
                box, authenticating: Self.authenticatedData(keyID: key.id, poolID: poolID)),
            let token = Self(decoding: plain)
        else { throw InvalidSealedToken() }
        self = token
    }

    package func hasExpired(at now: Int64) -> Bool { now >= expiresAt }

    private static func authenticatedData(keyID: String, poolID: String) -> [UInt8] {
        Array("gatehouse refresh token\0v1\0\(keyID)\0\(poolID)".utf8)
    }
}

extension SealedRefreshToken {
    package init(
        clientID: String, username: String, refreshToken: Secret, deviceID: String?, family: [UInt8],
        issuedAt: Int64, expiresAt: Int64
    ) {
        self.clientID = clientID
        self.username = username
        self.refreshToken = refreshToken
        self.deviceID = deviceID
        self.family = family
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    private func encoded() -> [UInt8]? {
        var writer = ByteWriter()
        let fields = [Array(clientID.utf8), Array(username.utf8), refreshToken.expose(), family]
        for field in fields {
            guard writer.write(field: field) else { return nil }
        }
        writer.write(byte: deviceID == nil ? 0 : 1)
        guard writer.write(field: Array((deviceID ?? "").utf8)) else { return nil }
        writer.write(integer: issuedAt)
        writer.write(integer: expiresAt)
        return writer.bytes
    }

    private init?(decoding plain: [UInt8]) {
        var reader = ByteReader(plain)
        guard let clientID = reader.readText(), let username = reader.readText(),
            let refreshToken = reader.readField(), let family = reader.readField(),
            let hasDevice = reader.readByte(), hasDevice <= 1, let deviceID = reader.readText(),
            let issuedAt = reader.readInteger(), let expiresAt = reader.readInteger(), reader.isAtEnd
        else { return nil }
        self.init(
            clientID: clientID, username: username, refreshToken: Secret(refreshToken),
            deviceID: hasDevice == 1 ? deviceID : nil, family: family, issuedAt: issuedAt, expiresAt: expiresAt)
    }
}
