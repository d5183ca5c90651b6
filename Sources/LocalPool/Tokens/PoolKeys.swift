internal import Cryptography
internal import GRDB
internal import Pipeline
internal import Store

/// The pool's two signing keys. Cognito signs access tokens and ID tokens with different ones.
struct PoolKeys: Sendable {
    /// What a token is for, as in its `token_use`.
    enum Use: String { case access, id }

    /// One key with its `kid`, and what never changes about tokens it signs.
    struct SigningKey: Sendable {
        let key: RSASigningKey
        let verificationKey: VerificationKey
        let keyID: String
        /// The token's first part with its dot: `{"kid":…,"alg":"RS256"}` in base64url.
        let header: String

        init(_ key: RSASigningKey, keyID: String) throws(CryptographyError) {
            self.key = key
            self.keyID = keyID
            verificationKey = try key.verificationKey()
            let header: JSONObject = ["kid": .string(keyID), "alg": "RS256"]
            self.header = Base64URL.encode(header.encoded()) + "."
        }

        /// A signed token with these claims.
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

    let access: SigningKey
    let id: SigningKey

    init(access: SigningKey, id: SigningKey) {
        self.access = access
        self.id = id
    }

    /// The keys kept in the store; made, with 2048 bits each, at the first start.
    init(store: Store, random: (Int) -> [UInt8]) throws {
        access = try Self.load(.access, store: store, random: random)
        id = try Self.load(.id, store: store, random: random)
    }

    /// The JWK set (RFC 7517, 5).
    var keySet: JSONObject { ["keys": [access.publicKey, id.publicKey]] }

    private static func load(_ use: Use, store: Store, random: (Int) -> [UInt8]) throws -> SigningKey {
        try store.writeBlocking { database in
            let row = try Row.fetchOne(
                database, sql: "SELECT key_id, pem FROM signing_keys WHERE token_use = ?", arguments: [use.rawValue])
            if let row {
                return try SigningKey(RSASigningKey(pem: Secret(row["pem"] as String)), keyID: row["key_id"])
            }
            // As Cognito's: standard base64 with padding, which a reader must not take for base64url.
            let made = try SigningKey(RSASigningKey.generate(bits: 2048), keyID: Base64.encode(random(32)))
            try database.execute(
                sql: "INSERT INTO signing_keys (token_use, key_id, pem) VALUES (?, ?, ?)",
                arguments: [use.rawValue, made.keyID, try made.key.privateKeyPEM().exposeText()])
            return made
        }
    }
}
