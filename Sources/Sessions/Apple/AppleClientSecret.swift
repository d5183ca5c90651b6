package import Cryptography
internal import Encoding

/// The gateway's credential for Apple's token endpoints: a JWT that is signed for each call (RFC 7523, 2.2, with
/// Apple's names for the parts).
package struct AppleClientSecret: Sendable {
    /// Apple allows half a year. A secret is needed only for the duration of a call.
    private static let lifetime: Int64 = 300
    private static let audience = "https://appleid.apple.com"

    /// The developer team's id, and the key's id, which Apple shows beside the `.p8` file.
    package var teamID: String
    package var keyID: String
    package var key: P256SigningKey

    package init(teamID: String, keyID: String, key: P256SigningKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
    }

    /// - Parameters:
    ///   - clientID: the app whose tokens the call concerns: its bundle or services id.
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
