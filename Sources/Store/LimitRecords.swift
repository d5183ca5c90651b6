internal import GRDB

/// How often something happened in one window of time.
package struct CountRecord: Sendable, Hashable {
    /// The key of the count, which reveals no account, device or address.
    package var key: String
    /// The number of the window.
    package var window: Int64
    package var count: Int64
    /// Seconds since 1970.
    package var endsAt: Int64

    package init(key: String, window: Int64, count: Int64, endsAt: Int64) {
        self.key = key
        self.window = window
        self.count = count
        self.endsAt = endsAt
    }
}

/// Failures in a row of one account or device.
package struct FailureRecord: Sendable, Hashable {
    package var key: String
    package var count: Int64
    /// Milliseconds since 1970.
    package var lastAt: Int64
    /// Seconds since 1970.
    package var endsAt: Int64

    package init(key: String, count: Int64, lastAt: Int64, endsAt: Int64) {
        self.key = key
        self.count = count
        self.lastAt = lastAt
        self.endsAt = endsAt
    }
}

/// Where the counters of limits outlast the process. Each call is one atomic step, so that several processes may share
/// them.
package protocol LimitRecords: Sendable {
    /// Adds to what was counted.
    ///
    /// - Returns: the totals, in the order given.
    func add(_ counts: [CountRecord]) async throws -> [Int64]
    /// Adds one failure to each.
    ///
    /// - Returns: how many there are in a row now, in the order given.
    func addFailures(of keys: [String], at milliseconds: Int64, endsAt: Int64) async throws -> [FailureRecord]
    func removeFailures(of key: String) async throws
    /// A device that has signed in to an account, until `endsAt`.
    func remember(device key: String, endsAt: Int64) async throws
    func knows(device key: String, now: Int64) async throws -> Bool
    func counts(now: Int64, limit: Int) async throws -> [CountRecord]
    func failures(now: Int64, limit: Int) async throws -> [FailureRecord]
    /// Forgets what has ended, and beyond `limit` what ends soonest.
    func removeEnded(now: Int64, limit: Int) async throws
}

/// Counters in SQLite.
package struct StoredLimits: LimitRecords {
    package static let migrations = [
        Store.Migration(
            name: "limits-1",
            sql: """
                CREATE TABLE limit_counts (
                    key TEXT NOT NULL,
                    window INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    ends_at INTEGER NOT NULL,
                    PRIMARY KEY (key, window)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX limit_counts_by_end ON limit_counts (ends_at);
                CREATE TABLE sign_in_failures (
                    key TEXT NOT NULL PRIMARY KEY,
                    count INTEGER NOT NULL,
                    last_at INTEGER NOT NULL,
                    ends_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX sign_in_failures_by_end ON sign_in_failures (ends_at);
                CREATE TABLE known_devices (
                    key TEXT NOT NULL PRIMARY KEY,
                    ends_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX known_devices_by_end ON known_devices (ends_at);
                """)
    ]

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func add(_ counts: [CountRecord]) async throws -> [Int64] {
        try await store.write { database in
            try counts.map { record in
                try Int64.fetchOne(
                    database,
                    sql: """
                        INSERT INTO limit_counts (key, window, count, ends_at) VALUES (?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET count = count + excluded.count RETURNING count
                        """,
                    arguments: [record.key, record.window, record.count, record.endsAt]) ?? record.count
            }
        }
    }

    package func addFailures(
        of keys: [String], at milliseconds: Int64, endsAt: Int64
    ) async throws -> [FailureRecord] {
        try await store.write { database in
            try keys.map { key in
                let count = try Int64.fetchOne(
                    database,
                    sql: """
                        INSERT INTO sign_in_failures (key, count, last_at, ends_at) VALUES (?, 1, ?, ?)
                        ON CONFLICT DO UPDATE SET
                            count = CASE WHEN ends_at * 1000 > excluded.last_at THEN count + 1 ELSE 1 END,
                            -- Not the later ones: a clock that was ahead would keep them there.
                            last_at = excluded.last_at, ends_at = excluded.ends_at
                        RETURNING count
                        """,
                    arguments: [key, milliseconds, endsAt])
                return FailureRecord(key: key, count: count ?? 1, lastAt: milliseconds, endsAt: endsAt)
            }
        }
    }

    package func removeFailures(of key: String) async throws {
        try await store.write { database in
            try database.execute(sql: "DELETE FROM sign_in_failures WHERE key = ?", arguments: [key])
        }
    }

    package func remember(device key: String, endsAt: Int64) async throws {
        try await store.write { database in
            try database.execute(
                sql: """
                    INSERT INTO known_devices (key, ends_at) VALUES (?, ?)
                    ON CONFLICT DO UPDATE SET ends_at = max(ends_at, excluded.ends_at)
                    """,
                arguments: [key, endsAt])
        }
    }

    package func knows(device key: String, now: Int64) async throws -> Bool {
        try await store.read { database in
            try Bool.fetchOne(
                database, sql: "SELECT TRUE FROM known_devices WHERE key = ? AND ends_at > ?",
                arguments: [key, now]) ?? false
        }
    }

    package func counts(now: Int64, limit: Int) async throws -> [CountRecord] {
        let pruning = store.pruningTime(now)
        return try await store.read { database in
            try Row.fetchAll(
                database,
                // The newest of them, the older windows first.
                sql: """
                    SELECT * FROM (SELECT key, window, count, ends_at FROM limit_counts WHERE ends_at > ?
                        ORDER BY ends_at DESC LIMIT ?) ORDER BY window
                    """,
                arguments: [pruning, limit]
            ).map { CountRecord(key: $0["key"], window: $0["window"], count: $0["count"], endsAt: $0["ends_at"]) }
        }
    }

    package func failures(now: Int64, limit: Int) async throws -> [FailureRecord] {
        let pruning = store.pruningTime(now)
        return try await store.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT key, count, last_at, ends_at FROM sign_in_failures
                    WHERE ends_at > ? ORDER BY ends_at DESC LIMIT ?
                    """,
                arguments: [pruning, limit]
            ).map {
                FailureRecord(key: $0["key"], count: $0["count"], lastAt: $0["last_at"], endsAt: $0["ends_at"])
            }
        }
    }

    package func removeEnded(now: Int64, limit: Int) async throws {
        let pruning = store.pruningTime(now)
        for table in ["limit_counts", "sign_in_failures", "known_devices"] {
            try await store.removeInSteps(table, where: "ends_at <= ?", [pruning])
            // Rows beyond the limit go, those that end first before the others.
            let first = try await store.read { database in
                try Int64.fetchOne(
                    database, sql: "SELECT ends_at FROM \(table) ORDER BY ends_at DESC LIMIT 1 OFFSET ?",
                    arguments: [max(0, limit - 1)])
            }
            if let first { try await store.removeInSteps(table, where: "ends_at < ?", [first]) }
        }
    }
}
