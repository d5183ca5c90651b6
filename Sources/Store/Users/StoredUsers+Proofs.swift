internal import FoundationEssentials
internal import GRDB

extension StoredUsers: SingleUseRecords {
    /// The maximum number of expired rows that are removed with each new one.
    private static let removedAtOnce = 16

    package func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool {
        try await store.write { [store] in
            try Self.spend(digest, until: endsAt, pruning: store.pruningTime(now), in: $0)
        }
    }

    package func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep {
        do {
            try await store.write { [store] in try Self.spend(proof, pruning: store.pruningTime(now), in: $0) }
            return .spent
        } catch let used as ProofUsed {
            return used.proof == .identityToken ? .replayed : .nonceReused
        }
    }

    package func isSpent(_ digest: [UInt8]) async throws -> Bool {
        try await store.lookUp { try !Self.isUnspent(digest, in: $0) }
    }

    // MARK: Statements

    static func isUnspent(_ digest: [UInt8], in database: Database) throws -> Bool {
        try
            !(Bool.fetchOne(
                database, sql: "SELECT TRUE FROM spent WHERE digest = ?", arguments: [Data(digest)]) ?? false)
    }

    /// - Parameter pruning: records that have expired by then are removed.
    static func spend(_ digest: [UInt8], until endsAt: Int64, pruning: Int64, in database: Database) throws -> Bool {
        try removeEnded(by: pruning, in: database)
        return try !insert([UserSignIn.Spent(digest: digest, endsAt: endsAt)], in: database).isEmpty
    }

    /// Thrown if a part of a proof was already used. It rolls the transaction back, and with it the other parts' marks.
    struct ProofUsed: Error {
        enum Part { case identityToken, nonce }
        let proof: Part
    }

    /// Marks all parts of a proof as used in one statement: only a writer that inserts a row for each part has used it.
    ///
    /// - Throws: also ``ProofUsed``.
    static func spend(_ proof: UserSignIn.Proof, pruning: Int64, in database: Database) throws {
        let parts = [UserSignIn.Spent(digest: proof.digest, endsAt: proof.endsAt)] + [proof.nonce].compactMap { $0 }
        let inserted = try insert(parts, in: database)
        guard inserted.contains(Data(proof.digest)) else { throw ProofUsed(proof: .identityToken) }
        guard inserted.count == parts.count else { throw ProofUsed(proof: .nonce) }
        try removeEnded(by: pruning, in: database)
    }

    /// - Returns: the digests that were new.
    private static func insert(_ parts: [UserSignIn.Spent], in database: Database) throws -> [Data] {
        let rows = Array(repeating: "(?, ?)", count: parts.count).joined(separator: ", ")
        return try Data.fetchAll(
            database.cachedStatement(
                sql: """
                    INSERT INTO spent (digest, ends_at) VALUES \(rows)
                    ON CONFLICT (digest) DO NOTHING RETURNING digest
                    """),
            arguments: parts.reduce(into: StatementArguments()) { $0 += [Data($1.digest), $1.endsAt] })
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
        validatedBefore time: Int64, pause: Int64, now: Int64, limit: Int
    ) async throws -> [AppleTokenRecord] {
        try await store.write { database in
            let due = try Row.fetchAll(
                database,
                // A validation in the future was recorded by a wrong clock. Each half is one index search.
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
                    arguments: [time + pause, record.userID, record.clientID])
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
        _ message: AppleTokenHandOver, of userID: String, limit: Int? = nil, in database: Database
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
