package import Cryptography
package import Encoding
internal import Pipeline

/// A request's body in ACME: a JSON Web Signature in its flattened form, by ES256 (RFC 7515, 7.2.2; RFC 8555, 6.2).
package enum JSONWebSignature {
    /// - Parameter payload: JSON, or nothing for what RFC 8555, 6.3 calls POST-as-GET.
    package static func sign(
        _ payload: [UInt8], protected: JSONObject, with key: P256SigningKey
    ) throws(CryptographyError) -> [UInt8] {
        let header = Base64URL.encode(protected.encoded())
        let body = Base64URL.encode(payload)
        let signature = try key.sign(Array("\(header).\(body)".utf8))
        let whole: JSONObject = [
            "protected": .string(header), "payload": .string(body),
            "signature": .string(Base64URL.encode(signature)),
        ]
        return whole.encoded()
    }

    /// The text that answers a challenge (RFC 8555, 8.1): the token and the thumbprint of the account's key (RFC 7638).
    package static func keyAuthorization(_ token: String, _ key: P256SigningKey) -> String {
        "\(token).\(key.thumbprint)"
    }
}
