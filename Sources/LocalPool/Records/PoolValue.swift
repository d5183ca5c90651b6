internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

/// Single values that a pool stores.
enum PoolValue {
    /// The key from which the constant fake salts and names of unknown users are derived. Generated at the first start.
    static func pretenceKey(store: Store, random: (Int) -> [UInt8]) throws -> Secret {
        try store.writeBlocking { database in
            let name = "pretence key"
            let known = try String.fetchOne(
                database, sql: "SELECT value FROM pool_values WHERE name = ?", arguments: [name])
            if let bytes = known.flatMap({ Hexadecimal.decode($0) }) { return Secret(bytes) }
            let made = random(32)
            try database.execute(
                sql: "INSERT INTO pool_values (name, value) VALUES (?, ?)",
                arguments: [name, Hexadecimal.encode(made)])
            return Secret(made)
        }
    }
}
