internal import GRDB

/// The session of a translated sign-in, with the data needed to end it by its refresh token.
package struct DirectSessionRecord: Sendable, Equatable {
    /// A digest of the refresh token.
    package var digest: String
    package var poolID: String
    package var subject: String
    /// The access tokens' `origin_jti`.
    package var originID: String
    /// Seconds since 1970, as all times here; nil if the tokens do not contain it.
    package var signedInAt: Int64?
    /// When the last access token issued with the refresh token expires.
    package var endsAt: Int64

    package init(
        digest: String, poolID: String, subject: String, originID: String, signedInAt: Int64?, endsAt: Int64
    ) {
        self.digest = digest
        self.poolID = poolID
        self.subject = subject
        self.originID = originID
        self.signedInAt = signedInAt
        self.endsAt = endsAt
    }
}

/// Persistent storage of translated sign-ins' sessions. Each operation is atomic.
/// ``SessionRecords/forget(subject:poolID:)`` deletes a user's sessions here too.
package protocol DirectSessionRecords: Sendable {
    /// Stores a session, or extends the end of a stored one.
    func note(_ record: DirectSessionRecord) async throws
    func session(by digest: String, poolID: String) async throws -> DirectSessionRecord?
    /// Deletes sessions without a valid access token.
    ///
    /// - Parameter now: seconds since 1970; while this time is not trusted, an earlier time is used (``PruningClock``).
    func removeEnded(now: Int64) async throws
}

/// Sessions of translated sign-ins in SQLite.
package struct StoredDirectSessions: DirectSessionRecords {
    static let migration = Store.Migration(
        name: "direct-sessions-1",
        sql: """
            CREATE TABLE direct_sessions (
                digest TEXT NOT NULL,
                pool_id TEXT NOT NULL,
                subject TEXT NOT NULL,
                origin_id TEXT NOT NULL,
                signed_in_at INTEGER,
                ends_at INTEGER NOT NULL,
                PRIMARY KEY (pool_id, digest)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX direct_sessions_by_subject ON direct_sessions (pool_id, subject);
            CREATE INDEX direct_sessions_by_end ON direct_sessions (ends_at);
            """)

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func note(_ record: DirectSessionRecord) async throws {
        try await store.write { database in
            try database.cachedStatement(
                sql: """
                    INSERT INTO direct_sessions (digest, pool_id, subject, origin_id, signed_in_at, ends_at)
                    VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT (pool_id, digest) DO UPDATE SET ends_at = max(ends_at, excluded.ends_at)
                    """
            ).execute(arguments: [
                record.digest, record.poolID, record.subject, record.originID, record.signedInAt, record.endsAt,
            ])
        }
    }

    package func session(by digest: String, poolID: String) async throws -> DirectSessionRecord? {
        try await store.read { database in
            try Row.fetchOne(
                database, sql: "SELECT * FROM direct_sessions WHERE pool_id = ? AND digest = ?",
                arguments: [poolID, digest]
            ).map { row in
                DirectSessionRecord(
                    digest: row["digest"], poolID: row["pool_id"], subject: row["subject"],
                    originID: row["origin_id"], signedInAt: row["signed_in_at"], endsAt: row["ends_at"])
            }
        }
    }

    package func removeEnded(now: Int64) async throws {
        try await store.removeInSteps("direct_sessions", where: "ends_at <= ?", [store.pruningTime(now)])
    }
}
