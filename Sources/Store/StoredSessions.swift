internal import FoundationEssentials
internal import GRDB

/// Sessions in SQLite.
package struct StoredSessions: SessionRecords {
    package static let migrations = [
        Store.Migration(
            name: "sessions-1",
            sql: """
                CREATE TABLE sessions (
                    family BLOB NOT NULL PRIMARY KEY,
                    pool_id TEXT NOT NULL,
                    subject TEXT NOT NULL,
                    origin_id TEXT,
                    device_id TEXT,
                    platform TEXT,
                    generation INTEGER NOT NULL,
                    token BLOB NOT NULL,
                    answer BLOB,
                    answer_may_be_lost INTEGER NOT NULL,
                    signed_in_at INTEGER NOT NULL,
                    refreshed_at INTEGER NOT NULL,
                    ends_at INTEGER NOT NULL,
                    ended_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX sessions_by_subject ON sessions (pool_id, subject);
                CREATE INDEX sessions_by_origin ON sessions (origin_id) WHERE origin_id IS NOT NULL;
                CREATE INDEX sessions_by_end ON sessions (ends_at);
                CREATE INDEX sessions_by_answer ON sessions (refreshed_at) WHERE answer IS NOT NULL;
                """),
        // An earlier flag of 1 becomes a time in the distant past.
        Store.Migration(
            name: "sessions-2", sql: "ALTER TABLE sessions RENAME COLUMN answer_may_be_lost TO retry_until"),
        Store.Migration(name: "sessions-3", sql: SessionDevice.migration("sessions")),
        Store.Migration(
            name: "sessions-4",
            sql: "CREATE INDEX sessions_open ON sessions (pool_id, subject, signed_in_at) WHERE ended_at IS NULL"),
        accountNames, StoredDirectSessions.migration,
    ]

    /// The maximum number of rows of each kind that one write tidies, so that no write takes long.
    private static let tidiedAtOnce = 8

    let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool {
        try await store.write { [store] database in
            if let code {
                let isOpen = try StoredAuthorizationCodes.use(
                    code, poolID: record.poolID, now: record.refreshedAt, in: database)
                guard isOpen else { return false }
            }
            try Self.tidy(database, pruning: store.pruningTime(record.refreshedAt))
            return try Self.putNew(record, where: "TRUE", in: database)
        }
    }

    package func session(_ family: [UInt8]) async throws -> SessionRecord? {
        try await store.lookUp { try Self.find(family, in: $0) }
    }

    package func advance(to record: SessionRecord) async throws -> SessionStep {
        try await advance(to: record) { try Self.putNew(record, where: Self.isBehind, in: $0) }
    }

    package func advanceStored(to record: SessionRecord) async throws -> SessionStep {
        try await advance(to: record) { database in
            let statement = try database.cachedStatement(
                sql: """
                    UPDATE sessions SET generation = ?, token = ?, answer = ?, retry_until = ?, refreshed_at = ?
                    WHERE family = ? AND generation < ? AND ended_at IS NULL RETURNING generation
                    """)
            let values: StatementArguments = [
                record.generation, Data(record.token), record.answer.map { Data($0) }, record.retryUntil,
                record.refreshedAt, Data(record.family), record.generation,
            ]
            return try Int64.fetchOne(statement, arguments: values) != nil
        }
    }

    /// - Parameter write: returns whether the record is now the session's.
    private func advance(
        to record: SessionRecord, _ write: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> SessionStep {
        try await store.write { [store] database in
            guard try write(database) else {
                return try Self.find(record.family, in: database).map(SessionStep.overtaken) ?? .gone
            }
            try Self.tidy(database, pruning: store.pruningTime(record.refreshedAt))
            return .taken
        }
    }

    package func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep {
        try await store.write { database in
            let statement = try database.cachedStatement(
                sql: """
                    UPDATE sessions SET token = ?, answer = ?, retry_until = 0, refreshed_at = ?
                    WHERE family = ? AND generation = ? AND token = ? AND refreshed_at = ? AND ended_at IS NULL
                    RETURNING generation
                    """)
            let arguments: StatementArguments = [
                Data(record.token), record.answer.map { Data($0) }, record.refreshedAt, Data(known.family),
                known.generation, Data(known.token), known.refreshedAt,
            ]
            guard try Int64.fetchOne(statement, arguments: arguments) == nil else { return .taken }
            return try Self.find(known.family, in: database).map(SessionStep.overtaken) ?? .gone
        }
    }

    package func end(
        family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64
    ) async throws -> [SessionRecord] {
        var (conditions, arguments): ([String], StatementArguments) = ([], [])
        if let family {
            conditions.append("family = ?")
            arguments += [Data(family)]
        }
        if !originIDs.isEmpty {
            conditions.append("origin_id IN (\(databaseQuestionMarks(count: originIDs.count)))")
            arguments += StatementArguments(originIDs.sorted())
        }
        guard !conditions.isEmpty else { return [] }
        let (condition, values) = ("(\(conditions.joined(separator: " OR ")))", arguments)
        return try await store.write { try Self.end($0, condition, values, poolID: poolID, at: now) }
    }

    package func endAll(
        subject: String, poolID: String, except family: [UInt8]?, at now: Int64
    ) async throws -> [SessionRecord] {
        try await store.write { database in
            guard let family else { return try Self.end(database, "subject = ?", [subject], poolID: poolID, at: now) }
            return try Self.end(
                database, "subject = ? AND family <> ?", [subject, Data(family)], poolID: poolID, at: now)
        }
    }

    package func open(subject: String, poolID: String) async throws -> [SessionRecord] {
        try await read("SELECT * FROM (\(Self.newestOpen))", subject, poolID)
    }

    package func all(subject: String, poolID: String) async throws -> [SessionRecord] {
        let ended = "SELECT * FROM sessions WHERE pool_id = :pool AND subject = :subject AND ended_at IS NOT NULL"
        return try await read(
            "SELECT * FROM (\(Self.newestOpen)) UNION ALL SELECT * FROM (\(ended) LIMIT :limit)", subject, poolID)
    }

    private static let newestOpen = """
        SELECT * FROM sessions WHERE pool_id = :pool AND subject = :subject AND ended_at IS NULL
        ORDER BY signed_in_at DESC LIMIT :limit
        """

    private func read(_ sql: String, _ subject: String, _ poolID: String) async throws -> [SessionRecord] {
        try await store.read { database in
            try Row.fetchAll(
                database, sql: "\(sql) ORDER BY signed_in_at, family",
                arguments: ["pool": poolID, "subject": subject, "limit": SessionRecord.readAtMost]
            ).map(SessionRecord.init)
        }
    }

    package func forget(subject: String, poolID: String) async throws {
        try await store.write { database in
            for table in ["sessions", "account_names", "direct_sessions"] {
                try database.execute(
                    sql: "DELETE FROM \(table) WHERE pool_id = ? AND subject = ?", arguments: [poolID, subject])
            }
        }
    }

    package func removeEnded(now: Int64) async throws {
        for table in ["sessions", "account_names"] {
            try await store.removeInSteps(table, where: "ends_at <= ?", [store.pruningTime(now)])
        }
        try await store.clearInSteps(
            "answer", in: "sessions", where: RetryWindows.closedCondition, RetryWindows.closedArguments(store, now: now)
        )
    }

    // MARK: Statements

    private static func find(_ family: [UInt8], in database: Database) throws -> SessionRecord? {
        try Row.fetchOne(
            database.cachedStatement(sql: "SELECT * FROM sessions WHERE family = ?"), arguments: [Data(family)]
        ).map(SessionRecord.init)
    }

    /// The session is active and its generation is lower than the new record's.
    private static let isBehind = "sessions.generation < excluded.generation AND sessions.ended_at IS NULL"

    /// Inserts a record, or advances the stored one to its token. The data about the sign-in itself stays unchanged.
    ///
    /// One statement both decides and writes: of several writers of the same step, one gets true, whatever the database
    /// allows concurrently.
    ///
    /// - Parameter condition: the condition on the stored record for the update.
    /// - Returns: whether the record is now the session's.
    private static func put(_ record: SessionRecord, where condition: String, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO sessions (
                    family, pool_id, subject, origin_id, device_id, platform, generation, token, answer,
                    retry_until, signed_in_at, refreshed_at, ends_at, ended_at, device_name, device_model, os_version,
                    app_version)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (family) DO UPDATE SET
                    generation = excluded.generation, token = excluded.token, answer = excluded.answer,
                    retry_until = excluded.retry_until, refreshed_at = excluded.refreshed_at
                WHERE \(condition)
                RETURNING generation
                """)
        let values: StatementArguments = [
            Data(record.family), record.poolID, record.subject, record.originID, record.deviceID, record.platform,
            record.generation, Data(record.token), record.answer.map { Data($0) }, record.retryUntil,
            record.signedInAt, record.refreshedAt, record.endsAt, record.endedAt,
        ]
        return try Int64.fetchOne(statement, arguments: values + record.device.values) != nil
    }

    /// As ``put(_:where:in:)``, for a session that may be new: ends the user's oldest sessions if too many are active.
    /// These ends are not reported, and their tokens are deleted.
    private static func putNew(_ record: SessionRecord, where condition: String, in database: Database) throws -> Bool {
        guard try put(record, where: condition, in: database) else { return false }
        try database.cachedStatement(
            sql: """
                UPDATE sessions SET ended_at = ?, token = x'', answer = NULL WHERE family IN (
                    SELECT family FROM sessions
                    WHERE pool_id = ? AND subject = ? AND ended_at IS NULL AND family <> ?
                    ORDER BY signed_in_at DESC LIMIT ? OFFSET ?)
                """
        ).execute(arguments: [
            record.refreshedAt, record.poolID, record.subject, Data(record.family), SessionRecord.endedAtOnce,
            SessionRecord.openAtMost - 1,
        ])
        return true
    }

    /// Ends sessions. The first statement decides which: no session is returned to two callers.
    ///
    /// The tokens are deleted; the rows remain as a record of the sessions.
    private static func end(
        _ database: Database, _ condition: String, _ arguments: StatementArguments, poolID: String, at now: Int64
    ) throws -> [SessionRecord] {
        let ended = try Row.fetchAll(
            database,
            sql: """
                UPDATE sessions SET ended_at = ? WHERE pool_id = ? AND ended_at IS NULL AND \(condition) RETURNING *
                """,
            arguments: [now, poolID] + arguments
        ).map(SessionRecord.init)
        let clearing = try database.cachedStatement(
            sql: "UPDATE sessions SET token = ?, answer = NULL WHERE family = ?")
        for record in ended { try clearing.execute(arguments: [Data(), Data(record.family)]) }
        return ended.map { record in
            var record = record
            record.endedAt = nil
            return record
        }
    }

    /// Deletes sessions whose last token has expired, and responses that may no longer be requested.
    private static func tidy(_ database: Database, pruning: Int64) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM sessions WHERE family IN (SELECT family FROM sessions WHERE ends_at <= ? LIMIT ?)
                """
        ).execute(arguments: [pruning, tidiedAtOnce])
        try database.cachedStatement(
            sql: """
                UPDATE sessions SET answer = NULL WHERE family IN (
                    SELECT family FROM sessions
                    WHERE answer IS NOT NULL AND refreshed_at < ? AND retry_until < ? LIMIT ?)
                """
        ).execute(arguments: [pruning - RetryWindows.window, pruning, tidiedAtOnce])
    }
}

extension SessionRecord {
    fileprivate init(_ row: Row) {
        let (family, token): (Data, Data) = (row["family"], row["token"])
        let answer: Data? = row["answer"]
        self.init(
            family: [UInt8](family), poolID: row["pool_id"], subject: row["subject"], originID: row["origin_id"],
            deviceID: row["device_id"], platform: row["platform"], device: SessionDevice(row),
            generation: row["generation"],
            token: [UInt8](token), answer: answer.map { [UInt8]($0) }, retryUntil: row["retry_until"],
            signedInAt: row["signed_in_at"], refreshedAt: row["refreshed_at"], endsAt: row["ends_at"],
            endedAt: row["ended_at"])
    }
}
