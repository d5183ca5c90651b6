internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

/// The pool's signing keys. Cognito signs access tokens and ID tokens with different ones.
struct PoolKeys: Sendable {
    /// The purpose of a token, as in its `token_use`.
    enum Use: String, CaseIterable { case access, id }

    let access: SigningKey
    let id: SigningKey
    /// Keys of earlier rotations whose tokens are still good.
    var retired: [SigningKey] = []

    init(access: SigningKey, id: SigningKey, retired: [SigningKey] = []) {
        self.access = access
        self.id = id
        self.retired = retired
    }

    /// The keys kept in the store; made, with 2048 bits each, at the first start.
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

    /// New keys.
    static func make(_ random: (Int) -> [UInt8]) throws -> PoolKeys {
        func key() throws -> SigningKey {
            // As Cognito's: standard base64 with padding, which a reader must not take for base64url.
            try SigningKey(RSASigningKey.generate(bits: 2048), keyID: Base64.encode(random(32)))
        }
        return PoolKeys(access: try key(), id: try key())
    }

    /// The JWK set (RFC 7517, 5).
    var keySet: JSONObject { ["keys": .array(([access, id] + retired).map(\.publicKey))] }

    /// Makes these the stored keys.
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
