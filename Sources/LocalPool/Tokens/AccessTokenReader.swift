internal import Cryptography
internal import Encoding

/// Verifies the pool's own access tokens, for the operations that take one.
struct AccessTokenReader {
    /// The claims that the operations need.
    struct Claims: Sendable {
        var sub: String
        var originJTI: String
        var clientID: String
        var deviceKey: String?
        var scopes: [String]
    }

    let keys: [SigningKey]
    let issuer: String

    /// The claims of a token that this pool signed and that has not expired at `now`.
    func read(_ token: String, now: Int64) throws(PoolError) -> Claims {
        let claims = try signedClaims(token)
        guard claims["iss"]?.stringValue == issuer,
            claims["token_use"]?.stringValue == PoolKeys.Use.access.rawValue,
            let subject = claims["sub"]?.stringValue, let expires = claims["exp"]?.integerValue,
            let originJTI = claims["origin_jti"]?.stringValue, let clientID = claims["client_id"]?.stringValue
        else { throw .invalidAccessToken }
        guard expires > now else { throw .expiredAccessToken }
        return Claims(
            sub: subject, originJTI: originJTI, clientID: clientID, deviceKey: claims["device_key"]?.stringValue,
            scopes: (claims["scope"]?.stringValue ?? "").split(separator: " ").map(String.init))
    }

    private func signedClaims(_ token: String) throws(PoolError) -> JSONObject {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        // The pool writes one header for each key. Another header is not from this pool, whatever algorithm it names.
        guard parts.count == 3, let key = keys.first(where: { $0.header.dropLast() == parts[0] }),
            let payload = Base64URL.decode(parts[1].utf8), let signature = Base64URL.decode(parts[2].utf8),
            key.verificationKey.verify(
                signature: signature, of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .rs256),
            let claims = try? JSON.parse(payload).objectValue
        else { throw .invalidAccessToken }
        return claims
    }
}
