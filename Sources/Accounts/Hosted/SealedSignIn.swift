internal import Cryptography
internal import Encoding
internal import Sealing

/// A sign-in in progress on Cognito's pages: the `state` that Cognito returns.
struct SealedSignIn: Sendable {
    /// 16 random bytes. Each sign-in issues one code.
    var id: [UInt8]
    /// The app client that began the sign-in.
    var clientID: String
    /// The app's redirect URI.
    var redirectURI: String
    /// The app's own state.
    var state: String?
    /// The app's code challenge, with the method S256.
    var codeChallenge: String
    /// The gateway's own code verifier for Cognito.
    var verifier: Secret
    /// The gateway's own nonce.
    var nonce: String
    /// The SHA-256 of the browser's cookie.
    var browser: [UInt8]
    /// The expiry in seconds since 1970.
    var expiresAt: Int64

    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        var writer = ByteWriter()
        let written =
            writer.write(field: id) && writer.write(text: clientID) && writer.write(text: redirectURI)
            && writer.write(optional: state) && writer.write(text: codeChallenge)
            && writer.write(field: verifier.expose()) && writer.write(text: nonce) && writer.write(field: browser)
        guard written else { throw SealingFailure() }
        writer.write(integer: expiresAt)
        return try SealedText.seal(writer.bytes, as: .hostedSignIn, with: keys, poolID: poolID)
    }
}

extension SealedSignIn {
    init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        var reader = ByteReader(try SealedText.open(text, as: .hostedSignIn, with: keys, poolID: poolID))
        guard let id = reader.readField(), let clientID = reader.readText(), let redirectURI = reader.readText(),
            let state = reader.readOptional(), let codeChallenge = reader.readText(), let verifier = reader.readField(),
            let nonce = reader.readText(), let browser = reader.readField(), let expiresAt = reader.readInteger(),
            reader.isAtEnd
        else { throw InvalidSealedToken() }
        self.init(
            id: id, clientID: clientID, redirectURI: redirectURI, state: state.text, codeChallenge: codeChallenge,
            verifier: Secret(verifier), nonce: nonce, browser: browser, expiresAt: expiresAt)
    }
}

/// The tokens behind an authorization code, and the conditions for redeeming it.
struct SealedCodeResult: Sendable {
    var clientID: String
    var redirectURI: String
    var codeChallenge: String
    var accessToken: Secret
    var idToken: Secret?
    var refreshToken: Secret?
    /// The expiry of the access token in seconds since 1970.
    var accessExpiresAt: Int64

    /// Returns the form for the store; no client gets it.
    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> [UInt8] {
        var writer = ByteWriter()
        let written =
            writer.write(text: clientID) && writer.write(text: redirectURI) && writer.write(text: codeChallenge)
            && writer.write(field: accessToken.expose()) && writer.write(optional: idToken?.exposeText())
            && writer.write(optional: refreshToken?.exposeText())
        guard written else { throw SealingFailure() }
        writer.write(integer: accessExpiresAt)
        return try SealedText.sealBytes(writer.bytes, as: .authorizationCode, with: keys, poolID: poolID)
    }
}

extension SealedCodeResult {
    init(opening bytes: [UInt8], with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        var reader = ByteReader(
            try SealedText.open(bytes: bytes, as: .authorizationCode, with: keys, poolID: poolID))
        guard let clientID = reader.readText(), let redirectURI = reader.readText(),
            let codeChallenge = reader.readText(), let accessToken = reader.readField(),
            let idToken = reader.readOptional(), let refreshToken = reader.readOptional(),
            let accessExpiresAt = reader.readInteger(), reader.isAtEnd
        else { throw InvalidSealedToken() }
        self.init(
            clientID: clientID, redirectURI: redirectURI, codeChallenge: codeChallenge,
            accessToken: Secret(accessToken), idToken: idToken.text.map { Secret($0) },
            refreshToken: refreshToken.text.map { Secret($0) }, accessExpiresAt: accessExpiresAt)
    }
}
