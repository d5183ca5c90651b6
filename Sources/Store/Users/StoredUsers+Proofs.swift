internal import FoundationEssentials
internal import GRDB

extension StoredUsers: SpentRecords {
    /// The most ended rows that are removed with each new one.
    private static let removedAtOnce = 16

    package func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool {
        try await store.write { [store] in
            try Self.spend(digest, until: endsAt, pruning: store.pruningTime(now), in: $0)
        }
    }

    package func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep {
        try await store.write { [store] in try Self.spend(proof, pruning: store.pruningTime(now), in: $0) }
    }

    package func isSpent(_ digest: [UInt8]) async throws -> Bool {
        try await store.read { try !Self.isUnspent(digest, in: $0) }
    }

    // MARK: Statements

    static func isUnspent(_ digest: [UInt8], in database: Database) throws -> Bool {
        try
            !(Bool.fetchOne(
                database, sql: "SELECT TRUE FROM spent WHERE digest = ?", arguments: [Data(digest)]) ?? false)
    }

    /// - Parameter pruning: what has ended by then is removed.
    static func spend(_ digest: [UInt8], until endsAt: Int64, pruning: Int64, in database: Database) throws -> Bool {
        try removeEnded(by: pruning, in: database)
        try database.execute(
            sql: "INSERT INTO spent (digest, ends_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            arguments: [Data(digest), endsAt])
        return database.changesCount > 0
    }

    /// Nothing of it is used up where any of it was used before.
    static func spend(_ proof: UserSignIn.Proof, pruning: Int64, in database: Database) throws -> SpendingStep {
        guard try isUnspent(proof.digest, in: database) else { return .replayed }
        if let nonce = proof.nonce {
            let isFirst = try spend(nonce.digest, until: nonce.endsAt, pruning: pruning, in: database)
            guard isFirst else { return .nonceReused }
        }
        _ = try spend(proof.digest, until: proof.endsAt, pruning: pruning, in: database)
        return .spent
    }

    private static func removeEnded(by time: Int64, in database: Database) throws {
        try database.cachedStatement(
            sql: "DELETE FROM spent WHERE digest IN (SELECT digest FROM spent WHERE ends_at <= ? LIMIT ?)"
        ).execute(arguments: [time, removedAtOnce])
    }
}

extension StoredUsers: AppleTokenRecords {
    package func keep(_ record: AppleTokenRecord) async throws {
        try await store.write { try Self.keep(record, in: $0) }
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
                database,
                // A validation in the future was recorded by a clock that was wrong. Each half is one search of the
                // index.
                sql: """
                    SELECT * FROM (SELECT * FROM apple_tokens WHERE validated_at < ?1 ORDER BY validated_at LIMIT ?3)
                    UNION ALL
                    SELECT * FROM (SELECT * FROM apple_tokens WHERE validated_at > ?2 ORDER BY validated_at LIMIT ?3)
                    LIMIT ?3
                    """,
                arguments: [time, now, limit]
            ).map(AppleTokenRecord.init)
            for record in due {
                try database.execute(
                    sql: "UPDATE apple_tokens SET validated_at = ? WHERE user_id = ? AND client_id = ?",
                    arguments: [now, record.userID, record.clientID])
            }
            return due
        }
    }

    package func replace(_ record: AppleTokenRecord, by text: [UInt8], validatedAt time: Int64) async throws {
        try await store.write { database in
            try database.execute(
                sql: """
                    UPDATE apple_tokens SET token = ?, validated_at = ?
                    WHERE user_id = ? AND client_id = ? AND token = ?
                    """,
                arguments: [Data(text), time, record.userID, record.clientID, Data(record.token)])
        }
    }

    package func remove(_ record: AppleTokenRecord) async throws {
        try await store.write { database in
            try database.execute(
                sql: "DELETE FROM apple_tokens WHERE user_id = ? AND client_id = ? AND token = ?",
                arguments: [record.userID, record.clientID, Data(record.token)])
        }
    }

    package func handOverAppleTokens(
        of userID: String, as message: @escaping AppleTokenHandOver, limit: Int
    ) async throws -> Bool {
        do {
            try await store.write { try Self.handOver(message, of: userID, limit: limit, in: $0) }
            return true
        } catch is TooManyMessages {
            return false
        }
    }

    private struct TooManyMessages: Error {}

    // MARK: Statements

    static func keep(_ record: AppleTokenRecord, in database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO apple_tokens (user_id, client_id, token, kept_at, validated_at)
                SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM users WHERE id = ?)
                ON CONFLICT DO UPDATE SET token = excluded.token, kept_at = excluded.kept_at,
                    validated_at = excluded.validated_at
                """,
            arguments: [
                record.userID, record.clientID, Data(record.token), record.storedAt, record.validatedAt, record.userID,
            ])
    }

    static func handOver(
        _ message: AppleTokenHandOver, of userID: String, limit: Int = .max, in database: Database
    ) throws {
        let records = try Row.fetchAll(
            database, sql: "DELETE FROM apple_tokens WHERE user_id = ? RETURNING *", arguments: [userID]
        ).map(AppleTokenRecord.init)
        for record in records {
            guard try StoredOutbox.add(message(record), limit: limit, in: database) else { throw TooManyMessages() }
        }
    }
}

extension AppleTokenRecord {
    fileprivate init(_ row: Row) {
        let token: Data = row["token"]
        self.init(
            userID: row["user_id"], clientID: row["client_id"], token: [UInt8](token), storedAt: row["kept_at"],
            validatedAt: row["validated_at"])
    }
}
