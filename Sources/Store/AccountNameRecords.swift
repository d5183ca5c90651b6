internal import GRDB

/// Maps sign-in names to users, as observed at sign-ins. Names are keyed hashes: without the key, a reader of the store
/// learns nothing from them.
package protocol AccountNameRecords: Sendable {
    /// Records that a user with these names has signed in. A name belongs to the last user who signed in with it.
    func note(_ names: [String], of subject: String, poolID: String, endsAt: Int64) async throws
    /// Returns nil if nobody has signed in with the name.
    func subject(named name: String, poolID: String) async throws -> String?
    /// As ``subject(named:poolID:)``, for several names. Returns the results in the same order.
    func subjects(named names: [String], poolID: String) async throws -> [String?]
}

extension AccountNameRecords {
    package func subjects(named names: [String], poolID: String) async throws -> [String?] {
        var subjects: [String?] = []
        for name in names { subjects.append(try await subject(named: name, poolID: poolID)) }
        return subjects
    }
}

extension StoredSessions: AccountNameRecords {
    static let accountNames = Store.Migration(
        name: "account-names-1",
        sql: """
            CREATE TABLE account_names (
                pool_id TEXT NOT NULL,
                name TEXT NOT NULL,
                subject TEXT NOT NULL,
                ends_at INTEGER NOT NULL,
                PRIMARY KEY (pool_id, name)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX account_names_by_subject ON account_names (pool_id, subject);
            CREATE INDEX account_names_by_end ON account_names (ends_at);
            """)

    package func note(_ names: [String], of subject: String, poolID: String, endsAt: Int64) async throws {
        try await store.write { database in
            let statement = try database.cachedStatement(
                sql: """
                    INSERT INTO account_names (pool_id, name, subject, ends_at) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET subject = excluded.subject, ends_at = excluded.ends_at
                    """)
            for name in names { try statement.execute(arguments: [poolID, name, subject, endsAt]) }
        }
    }

    package func subject(named name: String, poolID: String) async throws -> String? {
        try await store.read { database in
            try String.fetchOne(
                database, sql: "SELECT subject FROM account_names WHERE pool_id = ? AND name = ?",
                arguments: [poolID, name])
        }
    }
}
