internal import Cryptography
internal import Pipeline

/// Checks the pool's own access tokens, for the operations that take one.
struct AccessTokenReader {
    let key: PoolKeys.SigningKey
    let issuer: String

    /// The `sub` of a token this pool signed and that still lasts at `now`.
    func subject(of token: String, now: Int64) throws(PoolError) -> String {
        let claims = try signedClaims(token)
        guard claims["iss"]?.stringValue == issuer,
            claims["token_use"]?.stringValue == PoolKeys.Use.access.rawValue,
            let subject = claims["sub"]?.stringValue, let expires = claims["exp"]?.integerValue
        else { throw .invalidAccessToken }
        guard expires > now else { throw .expiredAccessToken }
        return subject
    }

    private func signedClaims(_ token: String) throws(PoolError) -> JSONObject {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        // The pool writes one header only, so another one is not its token, whatever algorithm it names.
        guard parts.count == 3, parts[0] == key.header.dropLast(),
            let payload = Base64URL.decode(parts[1].utf8), let signature = Base64URL.decode(parts[2].utf8),
            key.verificationKey.verify(
                signature: signature, of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .rs256),
            let claims = try? JSON.parse(payload).objectValue
        else { throw .invalidAccessToken }
        return claims
    }
}
