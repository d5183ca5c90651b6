package import Cryptography
package import Encoding

extension P256SigningKey {
    /// The members that define the public key (RFC 7518, 6.2.1), and no others.
    package var publicMembers: JSONObject {
        // In the lexicographic order of their names, as RFC 7638, 3.3 requires.
        [
            "crv": "P-256", "kty": "EC", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ]
    }

    /// The SHA-256 thumbprint of the public key (RFC 7638), which is its ID.
    package var thumbprint: String {
        Base64URL.encode(SHA256.hash(publicMembers.encoded()))
    }

    /// The public key as an element of a key set (RFC 7517, 4), for ES256 signatures only.
    package var publicJSONWebKey: JSONObject {
        var key = publicMembers
        key["kid"] = .string(thumbprint)
        key["use"] = "sig"
        key["alg"] = "ES256"
        return key
    }
}
