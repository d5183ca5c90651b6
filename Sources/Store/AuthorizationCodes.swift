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

/// The result of taking a code.
package enum AuthorizationCodeStep: Sendable, Equatable {
    case taken(result: [UInt8], family: [UInt8])
    /// Somebody took it before: the family of refresh tokens that was begun with it.
    case reused(family: [UInt8])
    case unknown
}

/// Where authorization codes outlast the process.
package protocol AuthorizationCodeRecords: Sendable {
    /// - Returns: false, with nothing stored, if the sign-in has given a code before.
    func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool
    /// Takes a code, which nobody else can take after that.
    func take(_ hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeStep
    /// Whether somebody has tried to take a code that was taken.
    func isReused(_ hash: [UInt8]) async throws -> Bool
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
                """)
    ]

    /// How long after its end a code is known as used, and its sign-in as one that has given a code: the longest that a
    /// sign-in may take.
    package static let memory: Int64 = 600
    private static let tidiedAtOnce = 16
    /// How long the results of codes that ended without use stay, for ``takeUnused(poolID:now:limit:)``.
    private static let memoryOfUnused: Int64 = 300

    private let store: Store

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

    package func take(_ hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeStep {
        try await store.write { database in
            let found = try Row.fetchOne(
                database.cachedStatement(
                    sql: """
                        SELECT result, family FROM authorization_codes
                        WHERE hash = ? AND pool_id = ? AND used_at IS NULL AND expires_at > ?
                        """), arguments: [Data(hash), poolID, now])
            if let found {
                // Nobody else writes in between: the transaction has been the only one that does from its start.
                try database.cachedStatement(
                    sql: "UPDATE authorization_codes SET used_at = ?, result = NULL WHERE hash = ?"
                ).execute(arguments: [now, Data(hash)])
                let (result, family): (Data?, Data) = (found["result"], found["family"])
                return .taken(result: [UInt8](result ?? Data()), family: [UInt8](family))
            }
            let reused = try Row.fetchOne(
                database.cachedStatement(
                    sql: """
                        UPDATE authorization_codes SET is_reused = 1
                        WHERE hash = ? AND pool_id = ? AND used_at IS NOT NULL RETURNING family
                        """), arguments: [Data(hash), poolID])
            guard let family: Data = reused?["family"] else { return .unknown }
            return .reused(family: [UInt8](family))
        }
    }

    package func isReused(_ hash: [UInt8]) async throws -> Bool {
        // On the connection that writes: it has the statement prepared, and needs no snapshot for one row.
        try await store.writeWithoutTransaction { database in
            try Bool.fetchOne(
                database.cachedStatement(sql: "SELECT is_reused FROM authorization_codes WHERE hash = ?"),
                arguments: [Data(hash)]) ?? false
        }
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
