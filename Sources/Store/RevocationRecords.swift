internal import GRDB

/// A revocation as it is kept: which tokens of which issuer count no more, and until when any of them could be valid.
package struct RevocationRecord: Sendable, Hashable {
    package var issuer: String
    /// `origin_jti`, `jti`, `sid` or `sub`.
    package var claim: String
    package var value: String
    /// With `sub`: tokens of sign-ins up to this second are meant, in seconds since 1970.
    package var before: Int64?
    /// Seconds since 1970.
    package var endsAt: Int64

    package init(issuer: String, claim: String, value: String, before: Int64? = nil, endsAt: Int64) {
        self.issuer = issuer
        self.claim = claim
        self.value = value
        self.before = before
        self.endsAt = endsAt
    }
}

/// Where revocations outlast the process.
package protocol RevocationRecords: Sendable {
    /// Keeps records. When this returns, they outlast a loss of power. Of two for the same tokens what either means is
    /// meant.
    func keep(_ records: [RevocationRecord]) async throws
    /// All that mean tokens which could be valid at `now`, in seconds since 1970, or by a clock that is believed
    /// instead (``PruningClock``).
    func all(now: Int64) async throws -> [RevocationRecord]
    /// Forgets those that mean no token any more.
    func removeEnded(now: Int64) async throws
    /// Another value each time when anyone but this process may have changed what is kept.
    func foreignChanges() async throws -> Int64
}

/// Revocations in SQLite.
package struct StoredRevocations: RevocationRecords {
    package static let migrations = [
        Store.Migration(
            name: "revocations-1",
            sql: """
                CREATE TABLE revocations (
                    issuer TEXT NOT NULL,
                    claim TEXT NOT NULL CHECK (claim IN ('origin_jti', 'jti', 'sid', 'sub')),
                    value TEXT NOT NULL,
                    before INTEGER,
                    ends_at INTEGER NOT NULL,
                    PRIMARY KEY (issuer, claim, value)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX revocations_by_end ON revocations (ends_at);
                """)
    ]

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func keep(_ records: [RevocationRecord]) async throws {
        try await store.write(outlasting: .powerLoss) { database in
            for record in records {
                try database.execute(
                    sql: """
                        INSERT INTO revocations (issuer, claim, value, before, ends_at) VALUES (?, ?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET
                            before = max(before, excluded.before), ends_at = max(ends_at, excluded.ends_at)
                        """,
                    arguments: [record.issuer, record.claim, record.value, record.before, record.endsAt])
            }
        }
    }

    package func all(now: Int64) async throws -> [RevocationRecord] {
        let pruning = store.pruningTime(now)
        return try await store.read { database in
            try Row.fetchAll(
                database, sql: "SELECT issuer, claim, value, before, ends_at FROM revocations WHERE ends_at > ?",
                arguments: [pruning]
            ).map { row in
                RevocationRecord(
                    issuer: row["issuer"], claim: row["claim"], value: row["value"], before: row["before"],
                    endsAt: row["ends_at"])
            }
        }
    }

    package func removeEnded(now: Int64) async throws {
        try await store.removeInSteps("revocations", where: "ends_at <= ?", [store.pruningTime(now)])
    }

    package func foreignChanges() async throws -> Int64 {
        try await store.foreignChanges()
    }
}
