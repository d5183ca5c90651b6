internal import Cryptography
internal import Encoding
internal import GRDB
internal import Locking
internal import Store

/// The local Apple's signing keys: three in the key set, two of which sign. This detects clients that always use the
/// first key of the set, or that assume a single signing key.
final class AppleKeys: Sendable {
    private struct Keys {
        /// An unused key, the phone's key and the servers' key, in this order.
        var current: [SigningKey]
        /// Keys of earlier rotations that are still in the key set.
        var retired: [SigningKey]
    }

    static let count = 3

    private let keys: Locked<Keys>
    private let store: Store
    private let random: @Sendable (Int) -> [UInt8]

    /// Loads the keys from the store; at the first start it generates them with 2048 bits each.
    convenience init(store: Store, random: @escaping @Sendable (Int) -> [UInt8]) throws {
        let rows = try store.writeBlocking { database in
            try Row.fetchAll(database, sql: "SELECT * FROM apple_keys ORDER BY rowid")
        }
        let stored = try rows.map { row in
            try SigningKey(RSASigningKey(pem: Secret(row["pem"] as String)), keyID: row["key_id"])
        }
        let isCurrent = rows.map { $0["is_current"] as Bool }
        let keys = Keys(
            current: zip(stored, isCurrent).filter(\.1).map(\.0),
            retired: zip(stored, isCurrent).filter { !$1 }.map(\.0))
        guard keys.current.count == Self.count else {
            let made = try Self.make(random)
            self.init(current: made, store: store, random: random)
            try store.writeBlocking { try Self.save(Keys(current: made, retired: []), in: $0) }
            return
        }
        self.init(keys, store: store, random: random)
    }

    /// - Parameter current: ``count`` keys.
    convenience init(current: [SigningKey], store: Store, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.init(Keys(current: current, retired: []), store: store, random: random)
    }

    private init(_ keys: Keys, store: Store, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.keys = Locked(keys)
        self.store = store
        self.random = random
    }

    /// The key that signs the phone's tokens for apps.
    var phone: SigningKey { keys.withLock { $0.current[1] } }

    /// The key that signs the tokens of Apple's servers for apps' servers.
    var server: SigningKey { keys.withLock { $0.current[2] } }

    /// The JWK set (RFC 7517, 5).
    var keySet: JSONObject { keys.withLock { ["keys": .array(($0.current + $0.retired).map(\.publicKey))] } }

    /// Replaces the signing keys by new ones with new ids.
    ///
    /// - Parameter keepingOld: whether the old keys stay in the key set.
    func rotate(keepingOld: Bool) async throws {
        let old = keys.withLock { $0 }
        let new = Keys(
            current: try Self.make(random), retired: keepingOld ? old.current + old.retired : [])
        try await store.write { try Self.save(new, in: $0) }
        keys.withLock { $0 = new }
    }

    static func make(_ random: (Int) -> [UInt8]) throws -> [SigningKey] {
        try (0..<count).map { _ in
            // Ten characters, like Apple's newer key ids.
            try SigningKey(
                RSASigningKey.generate(bits: 2048), keyID: String(Base64URL.encode(random(8)).prefix(10)))
        }
    }

    private static func save(_ keys: Keys, in database: Database) throws {
        try database.execute(sql: "DELETE FROM apple_keys")
        let rows = keys.current.map { ($0, true) } + keys.retired.map { ($0, false) }
        for (key, isCurrent) in rows {
            try database.execute(
                sql: "INSERT INTO apple_keys (key_id, pem, is_current) VALUES (?, ?, ?)",
                arguments: [key.keyID, try key.key.privateKeyPEM().exposeText(), isCurrent])
        }
    }
}
