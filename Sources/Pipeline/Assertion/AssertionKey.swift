package import Cryptography
package import Encoding

/// A key that signs assertions, called by its thumbprint. A class, so that what was signed with it can tell.
package final class AssertionKey: Sendable {
    /// The `kid` of tokens signed with this key: its thumbprint.
    package let id: String
    private let key: P256SigningKey
    /// The header of every token it signs, encoded.
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

    /// The claims as a compact JWS (RFC 7515, 7.1).
    func token(of claims: JSONObject) throws(CryptographyError) -> String {
        try token(of: claims, header: encodedHeader)
    }

    /// The same with another `typ` than an assertion's.
    package func token(of claims: JSONObject, type: String) throws(CryptographyError) -> String {
        try token(of: claims, header: Self.header(id, type: type))
    }

    private func token(of claims: JSONObject, header: String) throws(CryptographyError) -> String {
        let signed = header + "." + Base64URL.encode(claims.encoded())
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }
}

/// The keys of assertions at one moment: the one that signs, and the set that verifiers are given.
package final class AssertionKeys: Sendable {
    package let signing: AssertionKey
    /// The ids of all keys in the set, the signing one among them.
    package let ids: [String]
    /// The JWK Set (RFC 7517, 5) with every key that verifiers need now or soon.
    package let document: [UInt8]
    /// Its elements.
    package let publicKeys: [JSONObject]

    /// - Parameter others: keys that are to sign next, or did so until lately.
    package init(signing: AssertionKey, others: [AssertionKey]) {
        self.signing = signing
        let all = [signing] + others
        ids = all.map(\.id)
        publicKeys = all.map(\.publicJSONWebKey)
        document = Self.document(of: publicKeys)
    }

    /// A JWK Set of such keys.
    package static func document(of keys: [JSONObject]) -> [UInt8] {
        JSONObject([("keys", .array(keys.map(JSON.object)))]).encoded()
    }
}
