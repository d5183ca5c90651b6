internal import FoundationEssentials
internal import GRDB

/// An authorization code as it is stored: never the code itself. Secret parts are sealed by the caller.
package struct AuthorizationCodeRecord: Sendable {
    /// SHA-256 of the code.
    package var hash: [UInt8]
    /// The sign-in that it came of. Each gives one code.
    package var signInID: [UInt8]
    package var poolID: String
    /// The sign-in's result, sealed.
    package var result: [UInt8]
    /// The family of refresh tokens that the code begins.
    package var family: [UInt8]
    /// Seconds since 1970.
    package var expiresAt: Int64

    package init(
        hash: [UInt8], signInID: [UInt8], poolID: String, result: [UInt8], family: [UInt8], expiresAt: Int64
    ) {
        self.hash = hash
        self.signInID = signInID
        self.poolID = poolID
        self.result = result
        self.family = family
        self.expiresAt = expiresAt
    }
}

/// An authorization code's state.
package enum AuthorizationCodeState: Sendable, Equatable {
    /// Nobody has used it, and it has not ended.
    case open(result: [UInt8], family: [UInt8])
    /// Somebody used it: the family of refresh tokens that was begun with it, if a session was.
    case used(family: [UInt8])
    case unknown
}

/// Where authorization codes outlast the process.
package protocol AuthorizationCodeRecords: Sendable {
    /// - Returns: false, with nothing stored, if the sign-in has given a code before.
    func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool
    /// Looks a code up. Only ``SessionRecords/begin(_:redeeming:)`` and ``use(_:poolID:now:)`` decide who uses it.
    func state(of hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeState
    /// Uses a code up without a session.
    ///
    /// - Returns: false if it is unknown, has ended or was used before.
    func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool
    /// Takes the results of codes that have ended without use. Nobody else gets these.
    ///
    /// - Parameter limit: the most at once.
    func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]]
    /// Forgets codes that nobody can use, and uses that are long past.
    func removeEnded(now: Int64) async throws
}

/// Authorization codes in SQLite.
package struct StoredAuthorizationCodes: AuthorizationCodeRecords {
    package static let migrations = [
        Store.Migration(
            name: "authorization-codes-1",
            sql: """
                CREATE TABLE authorization_codes (
                    hash BLOB PRIMARY KEY,
                    sign_in_id BLOB NOT NULL UNIQUE,
                    pool_id TEXT NOT NULL,
                    result BLOB,
                    family BLOB NOT NULL,
                    expires_at INTEGER NOT NULL,
                    forget_at INTEGER NOT NULL,
                    used_at INTEGER,
                    is_reused INTEGER NOT NULL DEFAULT 0
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX authorization_codes_by_end ON authorization_codes (forget_at);
                """),
        // A code is used and its session begun by one transaction: nothing can happen in between that it told of.
        Store.Migration(
            name: "authorization-codes-2", sql: "ALTER TABLE authorization_codes DROP COLUMN is_reused"),
    ]

    /// How long after its end a code is known as used, and its sign-in as one that has given a code: the longest that a
    /// sign-in may take.
    package static let memory: Int64 = 600
    private static let tidiedAtOnce = 16
    /// How long the results of codes that ended without use stay, for ``takeUnused(poolID:now:limit:)``.
    private static let memoryOfUnused: Int64 = 300

    let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool {
        try await store.write { [store] database in
            let pruning = store.pruningTime(now)
            try database.cachedStatement(
                sql: """
                    DELETE FROM authorization_codes WHERE hash IN (
                        SELECT hash FROM authorization_codes WHERE forget_at <= ? LIMIT ?)
                    """
            ).execute(arguments: [pruning, Self.tidiedAtOnce])
            try database.cachedStatement(
                sql: """
                    INSERT INTO authorization_codes (
                        hash, sign_in_id, pool_id, result, family, expires_at, forget_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                    """
            ).execute(arguments: [
                Data(record.hash), Data(record.signInID), record.poolID, Data(record.result), Data(record.family),
                record.expiresAt, record.expiresAt + Self.memory,
            ])
            return database.changesCount > 0
        }
    }

    package func state(
        of hash: [UInt8], poolID: String, now: Int64
    ) async throws -> AuthorizationCodeState {
        try await store.lookUp { database in
            let found = try Row.fetchOne(
                database.cachedStatement(
                    sql: """
                        SELECT result, family, used_at, expires_at FROM authorization_codes
                        WHERE hash = ? AND pool_id = ?
                        """), arguments: [Data(hash), poolID])
            guard let found else { return .unknown }
            let (result, family): (Data?, Data) = (found["result"], found["family"])
            let (usedAt, expiresAt): (Int64?, Int64) = (found["used_at"], found["expires_at"])
            if usedAt != nil { return .used(family: [UInt8](family)) }
            guard let result, expiresAt > now else { return .unknown }
            return .open(result: [UInt8](result), family: [UInt8](family))
        }
    }

    package func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool {
        try await store.write { try Self.use(hash, poolID: poolID, now: now, in: $0) }
    }

    /// The one statement decides and writes: of several who use a code, one gets true.
    static func use(_ hash: [UInt8], poolID: String, now: Int64, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE authorization_codes SET used_at = ?, result = NULL
                WHERE hash = ? AND pool_id = ? AND used_at IS NULL AND expires_at > ? RETURNING 1
                """)
        return try Int64.fetchOne(statement, arguments: [now, Data(hash), poolID, now]) != nil
    }

    package func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]] {
        let pruning = store.pruningTime(now)
        return try await store.write { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT hash, result FROM authorization_codes
                        WHERE forget_at <= ? AND pool_id = ? AND used_at IS NULL AND result IS NOT NULL LIMIT ?
                        """), arguments: [pruning + Self.memory, poolID, limit])
            return try rows.map { row in
                let (hash, result): (Data, Data) = (row["hash"], row["result"])
                try database.cachedStatement(sql: "UPDATE authorization_codes SET result = NULL WHERE hash = ?")
                    .execute(arguments: [hash])
                return [UInt8](result)
            }
        }
    }

    package func removeEnded(now: Int64) async throws {
        let pruning = store.pruningTime(now)
        try await store.removeInSteps("authorization_codes", where: "forget_at <= ?", [pruning])
        try await store.clearInSteps(
            "result", in: "authorization_codes", where: "expires_at <= ?", [pruning - Self.memoryOfUnused])
    }
}
