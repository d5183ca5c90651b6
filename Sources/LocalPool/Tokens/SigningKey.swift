internal import Cryptography
internal import Encoding

/// A key with its `kid`, and the constant part of the tokens that it signs.
struct SigningKey: Sendable {
    let key: RSASigningKey
    let verificationKey: VerificationKey
    let keyID: String
    /// The first part of the token, including its dot: `{"kid":…,"alg":"RS256"}` in base64url.
    let header: String

    init(_ key: RSASigningKey, keyID: String) throws(CryptographyError) {
        self.key = key
        self.keyID = keyID
        verificationKey = try key.verificationKey()
        let header: JSONObject = ["kid": .string(keyID), "alg": "RS256"]
        self.header = Base64URL.encode(header.encoded()) + "."
    }

    /// Signs a token with these claims.
    func sign(_ claims: JSONObject) throws(CryptographyError) -> String {
        let input = header + Base64URL.encode(claims.encoded())
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }

    /// The public half as a JWK (RFC 7517, 4; RFC 7518, 6.3.1).
    var publicKey: JSON {
        [
            "alg": "RS256", "e": .string(Base64URL.encode(key.exponent)), "kid": .string(keyID), "kty": "RSA",
            "n": .string(Base64URL.encode(key.modulus)), "use": "sig",
        ]
    }
}
