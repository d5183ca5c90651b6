package import Cryptography
internal import Encoding

/// The error for a sealed text that cannot be opened, for any reason.
///
/// There is deliberately only one such error: distinguishing a wrong key from a wrong tag or form would help only an
/// attacker who modifies tokens.
package struct InvalidSealedToken: Error, Equatable, Sendable {
    package init() {}
}

/// A value could not be sealed, because of an internal error or an excessively long token of the provider's.
package struct SealingFailure: Error, Equatable, Sendable {
    package init() {}
}

/// Encrypted text that clients, and the gateway's own store, hold for the gateway. They can neither read nor change it.
///
/// Text form: `v2.` key id `.` base64url(nonce ‖ AES-256-GCM ciphertext ‖ tag). The additional authenticated data binds
/// form, purpose, key id and pool: a token of one pool or purpose does not open for another that shares the key.
package enum SealedText {
    /// The maximum length of a text that is accepted. Cognito's refresh tokens have about 1800 characters, its sessions
    /// up to 2048.
    package static let maximumLength = 8192

    /// The purpose of a text.
    package enum Purpose: String {
        case refreshToken = "refresh token"
        case challenge = "challenge"
        case device = "device"
        /// The tokens of a response that may have to be returned again.
        case answer = "answer"
        /// A nonce that the gateway issued for a sign-in.
        case nonce = "nonce"
        /// The newest token of one of the gateway's own sessions.
        case session = "session"
        /// Apple's refresh token of a user.
        case appleToken = "apple token"
        /// A sign-in in progress at Cognito's pages, in the `state` that these return.
        case hostedSignIn = "hosted sign-in"
        /// The tokens that an authorization code represents.
        case authorizationCode = "authorization code"
        /// A value for other gateways that share the database.
        case shared = "shared"
        /// The gateway's own keys, in a database.
        case keyRing = "key ring"
        /// The ACME account and certificates, in a database.
        case certificates = "certificates"
    }

    /// Seals a text with the ring's first key.
    ///
    /// - Throws: ``SealingFailure`` if OpenSSL fails.
    package static func seal(
        _ plain: [UInt8], as purpose: Purpose, with keys: SealingKeyRing, poolID: String
    ) throws(SealingFailure) -> Secret {
        let key = keys.sealingKey
        let data = authenticatedData(purpose, keyID: key.id, poolID: poolID)
        guard let box = try? key.key.seal(plain, authenticating: data) else { throw SealingFailure() }
        return Secret("v2.\(key.id).\(Base64URL.encode(box))")
    }

    package static func open(
        _ text: Secret, as purpose: Purpose, with keys: SealingKeyRing, poolID: String
    ) throws(InvalidSealedToken) -> [UInt8] {
        let parts = text.expose().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("v2".utf8),
            let key = keys.key(named: String(decoding: parts[1], as: UTF8.self)),
            let box = Base64URL.decode(parts[2]),
            let plain = try? key.key.open(
                box, authenticating: authenticatedData(purpose, keyID: key.id, poolID: poolID))
        else { throw InvalidSealedToken() }
        return plain
    }

    /// The id of the key that sealed a text; nil if the text has another form.
    package static func keyID(of text: Secret) -> String? {
        let parts = text.expose().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("v2".utf8) else { return nil }
        let id = String(decoding: parts[1], as: UTF8.self)
        return SealingKey.isIdentifier(id) ? id : nil
    }

    /// As ``seal(_:as:with:poolID:)``, in a binary form that only the gateway's own store holds and that is three
    /// quarters as long: `b2.` key id `.` nonce ‖ ciphertext ‖ tag.
    package static func sealBytes(
        _ plain: [UInt8], as purpose: Purpose, with keys: SealingKeyRing, poolID: String
    ) throws(SealingFailure) -> [UInt8] {
        let key = keys.sealingKey
        let data = authenticatedData(purpose, form: "b2", keyID: key.id, poolID: poolID)
        guard let box = try? key.key.seal(plain, authenticating: data) else { throw SealingFailure() }
        return Array("b2.\(key.id).".utf8) + box
    }

    /// Opens a text of either form.
    package static func open(
        bytes: [UInt8], as purpose: Purpose, with keys: SealingKeyRing, poolID: String
    ) throws(InvalidSealedToken) -> [UInt8] {
        guard bytes.starts(with: "b2.".utf8) else {
            return try open(Secret(bytes), as: purpose, with: keys, poolID: poolID)
        }
        let parts = bytes.dropFirst(3).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let key = keys.key(named: String(decoding: parts[0], as: UTF8.self)),
            let plain = try? key.key.open(
                Array(parts[1]),
                authenticating: authenticatedData(purpose, form: "b2", keyID: key.id, poolID: poolID))
        else { throw InvalidSealedToken() }
        return plain
    }

    /// Whether a text was sealed with the current sealing key.
    package static func isCurrent(_ text: Secret, _ keys: SealingKeyRing) -> Bool {
        text.expose().starts(with: "v2.\(keys.sealingKey.id).".utf8)
    }

    private static func authenticatedData(
        _ purpose: Purpose, form: String = "v2", keyID: String, poolID: String
    ) -> [UInt8] {
        Array("gatehouse \(purpose.rawValue)\0\(form)\0\(keyID)\0\(poolID)".utf8)
    }
}
