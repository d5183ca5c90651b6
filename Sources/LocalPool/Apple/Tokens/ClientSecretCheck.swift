internal import Cryptography
internal import Encoding

/// Checks the client secret of an app's server: a JWT that the server signs with the team's key.
struct ClientSecretCheck {
    let apple: LocalPoolConfiguration.Apple

    /// Apple's maximum of "six months", in seconds.
    static let longestLife: Int64 = 15_777_000

    /// - Throws: `invalid_client` for an unknown client, and for any error in the secret at `now`.
    func check(_ secret: String, for clientID: String, now: Int64) throws(AppleError) {
        guard apple.clientIDs.contains(clientID), let claims = signedClaims(secret) else { throw .invalidClient }
        guard claims["iss"]?.stringValue == apple.teamID, claims["sub"]?.stringValue == clientID,
            claims["aud"]?.stringValue == apple.issuer, let issued = claims["iat"]?.integerValue, issued <= now + 60,
            let expires = claims["exp"]?.integerValue, expires > now, expires - now <= Self.longestLife
        else { throw .invalidClient }
    }

    private func signedClaims(_ token: String) -> JSONObject? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let headerBytes = Base64URL.decode(parts[0].utf8),
            let header = try? JSON.parse(headerBytes), header["alg"]?.stringValue == "ES256",
            let key = apple.keys.first(where: { $0.id == header["kid"]?.stringValue })?.key,
            let payload = Base64URL.decode(parts[1].utf8), let signature = Base64URL.decode(parts[2].utf8),
            key.verify(signature: signature, of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .es256)
        else { return nil }
        return try? JSON.parse(payload).objectValue
    }
}
