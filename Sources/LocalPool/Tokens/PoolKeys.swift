internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

/// The pool's signing keys. Like Cognito, the pool signs access tokens and ID tokens with different keys.
struct PoolKeys: Sendable {
    /// The purpose of a token, the value of `token_use`.
    enum Use: String, CaseIterable { case access, id }

    let access: SigningKey
    let id: SigningKey
    /// Keys of earlier rotations whose tokens are still valid.
    var retired: [SigningKey] = []

    init(access: SigningKey, id: SigningKey, retired: [SigningKey] = []) {
        self.access = access
        self.id = id
        self.retired = retired
    }

    /// Loads the keys from the store; at the first start it generates them with 2048 bits each.
    init(store: Store, random: (Int) -> [UInt8]) throws {
        let rows = try store.writeBlocking { database in
            try Row.fetchAll(database, sql: "SELECT * FROM signing_keys ORDER BY rowid")
        }
        var current: [String: SigningKey] = [:]
        for row in rows {
            let key = try SigningKey(RSASigningKey(pem: Secret(row["pem"] as String)), keyID: row["key_id"])
            if row["is_current"] { current[row["token_use"]] = key } else { retired.append(key) }
        }
        guard let access = current[Use.access.rawValue], let id = current[Use.id.rawValue] else {
            self = try Self.make(random)
            try store.writeBlocking { try save(in: $0) }
            return
        }
        self.access = access
        self.id = id
    }

    /// Generates new keys.
    static func make(_ random: (Int) -> [UInt8]) throws -> PoolKeys {
        func key() throws -> SigningKey {
            // Like Cognito's: standard base64 with padding, which a reader must not confuse with base64url.
            try SigningKey(RSASigningKey.generate(bits: 2048), keyID: Base64.encode(random(32)))
        }
        return PoolKeys(access: try key(), id: try key())
    }

    /// The JWK set (RFC 7517, 5).
    var keySet: JSONObject { ["keys": .array(([access, id] + retired).map(\.publicKey))] }

    /// Stores these keys; they replace the stored ones.
    func save(in database: Database) throws {
        try database.execute(sql: "DELETE FROM signing_keys")
        let uses = [(Use.access.rawValue, access, true), (Use.id.rawValue, id, true)]
        for (use, key, isCurrent) in retired.map({ ("retired", $0, false) }) + uses {
            try database.execute(
                sql: "INSERT INTO signing_keys (key_id, token_use, pem, is_current) VALUES (?, ?, ?, ?)",
                arguments: [key.keyID, use, try key.key.privateKeyPEM().exposeText(), isCurrent])
        }
    }
}
