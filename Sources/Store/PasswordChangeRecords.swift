internal import FoundationEssentials
internal import GRDB

/// A pending password change, after which sessions must end.
package struct PasswordChangeRecord: Sendable, Equatable {
    /// 16 bytes.
    package var id: [UInt8]
    package var poolID: String
    /// The app client whose settings apply.
    package var clientID: String
    /// Nil if the gateway does not know the user.
    package var subject: String?
    /// The `origin_jti` of the session that continues; nil if none does.
    package var spared: String?
    /// Seconds since 1970, as all times here.
    package var notedAt: Int64
    /// Sessions of sign-ins up to this time end.
    package var endsSignInsUntil: Int64

    package init(
        id: [UInt8], poolID: String, clientID: String, subject: String?, spared: String?, notedAt: Int64,
        endsSignInsUntil: Int64
    ) {
        self.id = id
        self.poolID = poolID
        self.clientID = clientID
        self.subject = subject
        self.spared = spared
        self.notedAt = notedAt
        self.endsSignInsUntil = endsSignInsUntil
    }
}

/// Persistent storage of password changes, until the sessions from before them have ended. Each operation is atomic.
package protocol PasswordChangeRecords: Sendable {
    /// Returns when the change survives a crash of the process.
    func add(_ record: PasswordChangeRecord) async throws
    func remove(_ id: [UInt8]) async throws
    /// Returns the oldest changes.
    ///
    /// - Parameter limit: the maximum number of changes.
    func all(poolID: String, clientID: String, limit: Int) async throws -> [PasswordChangeRecord]
}

/// Password changes in SQLite.
package struct StoredPasswordChanges: PasswordChangeRecords {
    package static let migrations = [
        Store.Migration(
            name: "password-changes-1",
            sql: """
                CREATE TABLE password_changes (
                    id BLOB NOT NULL PRIMARY KEY,
                    pool_id TEXT NOT NULL,
                    client_id TEXT NOT NULL,
                    subject TEXT,
                    spared TEXT,
                    noted_at INTEGER NOT NULL,
                    ends_sign_ins_until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    ]

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func add(_ record: PasswordChangeRecord) async throws {
        try await store.write { database in
            try database.cachedStatement(
                sql: """
                    INSERT INTO password_changes (
                        id, pool_id, client_id, subject, spared, noted_at, ends_sign_ins_until)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """
            ).execute(arguments: [
                Data(record.id), record.poolID, record.clientID, record.subject, record.spared, record.notedAt,
                record.endsSignInsUntil,
            ])
        }
    }

    package func remove(_ id: [UInt8]) async throws {
        try await store.write { database in
            try database.cachedStatement(sql: "DELETE FROM password_changes WHERE id = ?")
                .execute(arguments: [Data(id)])
        }
    }

    package func all(poolID: String, clientID: String, limit: Int) async throws -> [PasswordChangeRecord] {
        try await store.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT * FROM password_changes WHERE pool_id = ? AND client_id = ? ORDER BY noted_at, id LIMIT ?
                    """,
                arguments: [poolID, clientID, limit]
            ).map { row in
                let id: Data = row["id"]
                return PasswordChangeRecord(
                    id: [UInt8](id), poolID: row["pool_id"], clientID: row["client_id"], subject: row["subject"],
                    spared: row["spared"], notedAt: row["noted_at"], endsSignInsUntil: row["ends_sign_ins_until"])
            }
        }
    }
}
