internal import GRDB

/// A stored revocation: the tokens of an issuer that are revoked, and the time until which any of them could be valid.
package struct RevocationRecord: Sendable, Hashable {
    package var issuer: String
    /// `origin_jti`, `jti`, `sid` or `sub`.
    package var claim: String
    package var value: String
    /// With `sub`: revokes tokens of sign-ins up to this second, in seconds since 1970.
    package var before: Int64?
    /// With `sub`: the `origin_jti` of the sign-in that is not revoked; nil: all are.
    package var sparing: String?
    /// Seconds since 1970.
    package var endsAt: Int64

    package init(
        issuer: String, claim: String, value: String, before: Int64? = nil, sparing: String? = nil, endsAt: Int64
    ) {
        self.issuer = issuer
        self.claim = claim
        self.value = value
        self.before = before
        self.sparing = sparing
        self.endsAt = endsAt
    }
}

/// Persistent storage of revocations.
package protocol RevocationRecords: Sendable {
    /// Stores records. When this returns, they survive a power loss. Records for the same tokens are merged to cover
    /// the tokens of both.
    func keep(_ records: [RevocationRecord]) async throws
    /// All revocations of tokens that could be valid at `now`, in seconds since 1970, or at the trusted time
    /// (``PruningClock``).
    func all(now: Int64) async throws -> [RevocationRecord]
    /// Deletes revocations whose tokens have all expired.
    func removeEnded(now: Int64) async throws
    /// The changes of these records, for a follower.
    var changes: any RevocationChanges { get }
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
                """),
        // One row for each spared sign-in. The reader combines all rows of a subject.
        Store.Migration(
            name: "revocations-2",
            sql: """
                CREATE TABLE sparing_revocations (
                    issuer TEXT NOT NULL,
                    subject TEXT NOT NULL,
                    spared TEXT NOT NULL,
                    before INTEGER NOT NULL,
                    ends_at INTEGER NOT NULL,
                    PRIMARY KEY (issuer, subject, spared)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX sparing_revocations_by_end ON sparing_revocations (ends_at);
                """),
    ]

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func keep(_ records: [RevocationRecord]) async throws {
        try await store.write(outlasting: .powerLoss) { database in
            for record in records {
                if let origin = record.sparing {
                    try Self.keep(record, sparing: origin, in: database)
                    continue
                }
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
            let sparing =
                try database.tableExists("sparing_revocations")
                ? """
                UNION ALL
                SELECT issuer, 'sub', subject, before, spared, ends_at FROM sparing_revocations WHERE ends_at > ?1
                """ : ""
            return try Row.fetchAll(
                database,
                sql: """
                    SELECT issuer, claim, value, before, NULL AS spared, ends_at FROM revocations WHERE ends_at > ?1
                    \(sparing)
                    """,
                arguments: [pruning]
            ).map { row in
                RevocationRecord(
                    issuer: row["issuer"], claim: row["claim"], value: row["value"], before: row["before"],
                    sparing: row["spared"], endsAt: row["ends_at"])
            }
        }
    }

    package func removeEnded(now: Int64) async throws {
        for table in ["revocations", "sparing_revocations"] {
            try await store.removeInSteps(table, where: "ends_at <= ?", [store.pruningTime(now)])
        }
    }

    private static func keep(
        _ record: RevocationRecord, sparing origin: String, in database: Database
    ) throws {
        try database.execute(
            sql: """
                INSERT INTO sparing_revocations (issuer, subject, spared, before, ends_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET
                    before = max(before, excluded.before), ends_at = max(ends_at, excluded.ends_at)
                """,
            arguments: [record.issuer, record.value, origin, record.before ?? .max, record.endsAt])
    }

    package var changes: any RevocationChanges { StoredRevocationChanges(records: self, store: store) }
}
