internal import Cryptography
internal import GRDB

/// A device that a user has signed in with, for pools that track devices.
struct DeviceRecord: Sendable {
    var key: String
    var sub: String
    var groupKey: String
    var name: String?
    /// Nil until the app has confirmed the device with the verifier of a device secret.
    var credentials: UserRecord.SRPCredentials?
    /// Whether the device replaces the second factor.
    var isRemembered: Bool
    var createdAt: Int64
    var changedAt: Int64
    var authenticatedAt: Int64

    var isConfirmed: Bool { credentials != nil }

    static func find(_ key: String, of sub: String, in database: Database) throws -> DeviceRecord? {
        try Row.fetchOne(
            database, sql: "SELECT * FROM devices WHERE device_key = ? AND sub = ?", arguments: [key, sub]
        ).map(DeviceRecord.init)
    }

    /// The user's confirmed devices, oldest first.
    static func confirmed(of sub: String, in database: Database) throws -> [DeviceRecord] {
        try Row.fetchAll(
            database,
            sql: "SELECT * FROM devices WHERE sub = ? AND verifier IS NOT NULL ORDER BY created_at, device_key",
            arguments: [sub]
        ).map(DeviceRecord.init)
    }

    func save(in database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO devices (device_key, sub, group_key, name, salt, verifier, is_remembered,
                    created_at, changed_at, authenticated_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                key, sub, groupKey, name, credentials?.salt.hex, credentials?.verifier.hex, isRemembered, createdAt,
                changedAt, authenticatedAt,
            ])
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM devices WHERE device_key = ?", arguments: [key])
    }
}

extension DeviceRecord {
    fileprivate init(_ row: Row) {
        let (salt, verifier): (String?, String?) = (row["salt"], row["verifier"])
        var credentials: UserRecord.SRPCredentials?
        if let salt = salt.flatMap({ SRPNumber(hex: $0) }), let verifier = verifier.flatMap({ SRPNumber(hex: $0) }) {
            credentials = UserRecord.SRPCredentials(salt: salt, verifier: verifier)
        }
        self.init(
            key: row["device_key"], sub: row["sub"], groupKey: row["group_key"], name: row["name"],
            credentials: credentials, isRemembered: row["is_remembered"], createdAt: row["created_at"],
            changedAt: row["changed_at"], authenticatedAt: row["authenticated_at"])
    }
}
