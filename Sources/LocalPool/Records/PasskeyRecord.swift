internal import Encoding
internal import GRDB

/// A user's passkey.
struct PasskeyRecord: Sendable {
    /// In base64url.
    var id: String
    var sub: String
    /// The key as COSE_Key.
    var publicKey: [UInt8]
    var signatureCount: Int64
    /// The name that Cognito generates.
    var name: String
    var transports: [String]
    /// `platform` or `cross-platform`; nil if the client did not report it.
    var attachment: String?
    var createdAt: Int64

    static func all(of sub: String, in database: Database) throws -> [PasskeyRecord] {
        try Row.fetchAll(
            database, sql: "SELECT * FROM passkeys WHERE sub = ? ORDER BY created_at, rowid", arguments: [sub]
        ).map(PasskeyRecord.init)
    }

    static func find(_ id: String, of sub: String, in database: Database) throws -> PasskeyRecord? {
        try Row.fetchOne(database, sql: "SELECT * FROM passkeys WHERE id = ? AND sub = ?", arguments: [id, sub])
            .map(PasskeyRecord.init)
    }

    /// - Throws: InvalidParameterException if the passkey is already registered.
    func insert(in database: Database) throws {
        do {
            try database.execute(
                sql: """
                    INSERT INTO passkeys (id, sub, public_key, signature_count, name, transports, attachment, created_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    id, sub, Base64URL.encode(publicKey), signatureCount, name,
                    JSON.array(transports.map(JSON.string)).text, attachment, createdAt,
                ])
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw PoolError.invalidParameter("The passkey is registered already.")
        }
    }

    func used(count: Int64, in database: Database) throws {
        try database.execute(
            sql: "UPDATE passkeys SET signature_count = ? WHERE id = ?", arguments: [count, id])
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM passkeys WHERE id = ?", arguments: [id])
    }
}

extension PasskeyRecord {
    fileprivate init(_ row: Row) throws {
        self.init(
            id: row["id"], sub: row["sub"], publicKey: Base64URL.decode((row["public_key"] as String).utf8) ?? [],
            signatureCount: row["signature_count"], name: row["name"],
            transports: try JSON.parse(text: row["transports"]).strings, attachment: row["attachment"],
            createdAt: row["created_at"])
    }
}

extension PoolSchema {
    static let passkeys = """
        CREATE TABLE passkeys (
            id TEXT NOT NULL UNIQUE,
            sub TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
            public_key TEXT NOT NULL,
            signature_count INTEGER NOT NULL,
            name TEXT NOT NULL,
            transports TEXT NOT NULL,
            attachment TEXT,
            created_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX passkeys_by_sub ON passkeys (sub);
        """
}
