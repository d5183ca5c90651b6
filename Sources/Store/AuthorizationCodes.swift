internal import FoundationEssentials
internal import GRDB

/// A stored authorization code. The code itself is not stored. Secret parts are sealed by the caller.
package struct AuthorizationCodeRecord: Sendable {
    /// SHA-256 of the code.
    package var hash: [UInt8]
    /// The sign-in that the code was issued for. A sign-in gets one code.
    package var signInID: [UInt8]
    package var poolID: String
    /// The sign-in's result, sealed.
    package var result: [UInt8]
    /// The family of refresh tokens that starts with the code.
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

/// The state of an authorization code.
package enum AuthorizationCodeState: Sendable, Equatable {
    /// The code is unused and has not expired.
    case open(result: [UInt8], family: [UInt8])
    /// The code was used: the family of refresh tokens that starts with it, if a session was started.
    case used(family: [UInt8])
    case unknown
}

/// Persistent storage of authorization codes.
package protocol AuthorizationCodeRecords: Sendable {
    /// - Returns: false, with nothing stored, if the sign-in already has a code.
    func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool
    /// Looks up a code. The caller that uses it is decided only by ``SessionRecords/begin(_:redeeming:)`` and
    /// ``use(_:poolID:now:)``.
    func state(of hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeState
    /// Marks a code as used without starting a session.
    ///
    /// - Returns: false if the code is unknown, has expired or was already used.
    func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool
    /// Removes and returns the results of codes that expired unused. Each result is returned to one caller only.
    ///
    /// - Parameter limit: the maximum number of results.
    func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]]
    /// Deletes codes that are no longer usable, and records of long-past uses.
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
        // A code is used and its session started in one transaction, so the state in between that this column recorded
        // cannot occur.
        Store.Migration(
            name: "authorization-codes-2", sql: "ALTER TABLE authorization_codes DROP COLUMN is_reused"),
    ]

    /// The number of seconds after expiry for which a code is remembered as used, and its sign-in as having a code: the
    /// longest time that a sign-in may take.
    package static let memory: Int64 = 600
    private static let tidiedAtOnce = 16
    /// The number of seconds for which results of codes that expired unused stay, for
    /// ``takeUnused(poolID:now:limit:)``.
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

    /// One statement both decides and writes: of several concurrent uses of a code, one returns true.
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
