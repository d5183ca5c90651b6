package import Cryptography
internal import Encoding

/// The gateway's proof of identity to Apple's token endpoint: a JWT that it signs anew for every call (RFC 7523, 2.2,
/// with Apple's names for the parts).
package struct AppleClientSecret: Sendable {
    /// Apple allows half a year. Nobody needs one for longer than a call takes.
    private static let lifetime: Int64 = 300
    private static let audience = "https://appleid.apple.com"

    /// The developer team, and the key's id as Apple shows it beside the `.p8` file.
    package var teamID: String
    package var keyID: String
    package var key: P256SigningKey

    package init(teamID: String, keyID: String, key: P256SigningKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
    }

    /// - Parameters:
    ///   - clientID: the app whose tokens the call is about: its bundle or services id.
    ///   - now: seconds since 1970.
    func token(clientID: String, now: Int64) throws(CryptographyError) -> Secret {
        let header: JSONObject = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
        let claims: JSONObject = [
            "iss": .string(teamID), "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + Self.lifetime)),
            "aud": .string(Self.audience), "sub": .string(clientID),
        ]
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
        return Secret(signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8))))
    }
}
