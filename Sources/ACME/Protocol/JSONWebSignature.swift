package import Cryptography
package import Encoding
internal import Pipeline

/// The body of an ACME request: a flattened JSON Web Signature with ES256 (RFC 7515, 7.2.2; RFC 8555, 6.2).
package enum JSONWebSignature {
    /// - Parameter payload: JSON, or empty for POST-as-GET (RFC 8555, 6.3).
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

    /// The key authorization that answers a challenge (RFC 8555, 8.1): the token and the thumbprint of the account's
    /// key (RFC 7638).
    package static func keyAuthorization(_ token: String, _ key: P256SigningKey) -> String {
        "\(token).\(key.thumbprint)"
    }
}
