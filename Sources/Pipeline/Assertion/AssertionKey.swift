package import Cryptography
package import Encoding

/// A key that signs assertions, identified by its thumbprint. A class, so that cached assertions can compare keys by
/// reference.
package final class AssertionKey: Sendable {
    /// The `kid` of tokens signed with this key: its thumbprint.
    package let id: String
    private let key: P256SigningKey
    /// The encoded header of every assertion that it signs.
    private let encodedHeader: String

    package init(_ key: P256SigningKey) {
        self.key = key
        id = key.thumbprint
        encodedHeader = Self.header(id, type: Assertion.type)
    }

    private static func header(_ id: String, type: String) -> String {
        let header: JSONObject = ["alg": "ES256", "typ": .string(type), "kid": .string(id)]
        return Base64URL.encode(header.encoded())
    }

    package var publicJSONWebKey: JSONObject { key.publicJSONWebKey }

    /// Signs the claims as a compact JWS (RFC 7515, 7.1).
    func token(of claims: JSONObject) throws(CryptographyError) -> String {
        try token(of: claims, header: encodedHeader)
    }

    /// Signs the claims with a `typ` other than an assertion's.
    package func token(of claims: JSONObject, type: String) throws(CryptographyError) -> String {
        try token(of: claims, header: Self.header(id, type: type))
    }

    private func token(of claims: JSONObject, header: String) throws(CryptographyError) -> String {
        let signed = header + "." + Base64URL.encode(claims.encoded())
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }
}

/// The current keys of assertions: the signing key, and the key set for verifiers.
package final class AssertionKeys: Sendable {
    package let signing: AssertionKey
    /// The IDs of all keys in the set, including the signing key.
    package let ids: [String]
    /// The JWK Set (RFC 7517, 5) with every key that verifiers need now or soon.
    package let document: [UInt8]
    /// The keys of ``document``.
    package let publicKeys: [JSONObject]

    /// - Parameter others: keys that sign next, or did so recently.
    package init(signing: AssertionKey, others: [AssertionKey]) {
        self.signing = signing
        let all = [signing] + others
        ids = all.map(\.id)
        publicKeys = all.map(\.publicJSONWebKey)
        document = Self.document(of: publicKeys)
    }

    /// Returns the JWK Set of the keys.
    package static func document(of keys: [JSONObject]) -> [UInt8] {
        JSONObject([("keys", .array(keys.map(JSON.object)))]).encoded()
    }
}
