internal import FoundationEssentials
internal import GRDB

extension StoredUsers: SpentRecords, NonceRecords {
    /// What has ended is removed so many at a time with each new one.
    private static let removedAtOnce = 16

    package func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool {
        try await store.write { try Self.spend(digest, until: endsAt, now: now, in: $0) }
    }

    package func give(nonce digest: [UInt8], until endsAt: Int64, now: Int64, limit: Int) async throws -> Bool {
        try await store.write { database in
            try Self.removeEnded(from: "nonces", now: now, in: database)
            try database.execute(
                sql: """
                    INSERT INTO nonces (digest, ends_at) SELECT ?, ?
                    WHERE (SELECT count(*) FROM nonces) < ? ON CONFLICT DO NOTHING
                    """,
                arguments: [Data(digest), endsAt, limit])
            return database.changesCount > 0
        }
    }

    package func take(nonce digest: [UInt8], now: Int64) async throws -> Bool {
        try await store.write { try Self.take(nonce: digest, now: now, in: $0) }
    }

    // MARK: Statements

    static func isUnspent(_ digest: [UInt8], in database: Database) throws -> Bool {
        try
            !(Bool.fetchOne(
                database, sql: "SELECT TRUE FROM spent WHERE digest = ?", arguments: [Data(digest)]) ?? false)
    }

    static func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64, in database: Database) throws -> Bool {
        try removeEnded(from: "spent", now: now, in: database)
        try database.execute(
            sql: "INSERT INTO spent (digest, ends_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            arguments: [Data(digest), endsAt])
        return database.changesCount > 0
    }

    static func take(nonce digest: [UInt8], now: Int64, in database: Database) throws -> Bool {
        try database.execute(
            sql: "DELETE FROM nonces WHERE digest = ? AND ends_at > ?", arguments: [Data(digest), now])
        return database.changesCount > 0
    }

    private static func removeEnded(from table: String, now: Int64, in database: Database) throws {
        try database.cachedStatement(
            sql: "DELETE FROM \(table) WHERE digest IN (SELECT digest FROM \(table) WHERE ends_at <= ? LIMIT ?)"
        ).execute(arguments: [now, removedAtOnce])
    }
}

extension StoredUsers: AppleTokenRecords {
    package func keep(_ record: AppleTokenRecord) async throws {
        try await store.write { database in
            try database.execute(
                sql: """
                    INSERT INTO apple_tokens (user_id, client_id, token, kept_at, validated_at)
                    SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM users WHERE id = ?)
                    ON CONFLICT DO UPDATE SET token = excluded.token, kept_at = excluded.kept_at,
                        validated_at = excluded.validated_at
                    """,
                arguments: [
                    record.userID, record.clientID, Data(record.token), record.keptAt, record.validatedAt,
                    record.userID,
                ])
        }
    }

    package func appleTokens(of userID: String) async throws -> [AppleTokenRecord] {
        try await store.read { database in
            try Row.fetchAll(
                database, sql: "SELECT * FROM apple_tokens WHERE user_id = ? ORDER BY client_id", arguments: [userID]
            ).map(AppleTokenRecord.init)
        }
    }

    package func claimAppleTokens(
        validatedBefore time: Int64, now: Int64, limit: Int
    ) async throws -> [AppleTokenRecord] {
        try await store.write { database in
            let due = try Row.fetchAll(
                database, sql: "SELECT * FROM apple_tokens WHERE validated_at < ? ORDER BY validated_at LIMIT ?",
                arguments: [time, limit]
            ).map(AppleTokenRecord.init)
            for record in due {
                try database.execute(
                    sql: "UPDATE apple_tokens SET validated_at = ? WHERE user_id = ? AND client_id = ?",
                    arguments: [now, record.userID, record.clientID])
            }
            return due
        }
    }

    package func removeAppleTokens(of userID: String) async throws {
        try await store.write { database in
            try database.execute(sql: "DELETE FROM apple_tokens WHERE user_id = ?", arguments: [userID])
        }
    }
}

extension AppleTokenRecord {
    fileprivate init(_ row: Row) {
        let token: Data = row["token"]
        self.init(
            userID: row["user_id"], clientID: row["client_id"], token: [UInt8](token), keptAt: row["kept_at"],
            validatedAt: row["validated_at"])
    }
}
