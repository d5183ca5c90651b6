internal import GRDB

/// The number of events in one time window.
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

/// Consecutive failures of one account or device.
package struct FailureRecord: Sendable, Hashable {
    package var key: String
    package var count: Int64
    /// Milliseconds since 1970.
    package var lastAt: Int64
    /// Seconds since 1970.
    package var endsAt: Int64
    /// When the failures were last reset, in milliseconds since 1970, strictly increasing with each reset; 0 if they
    /// never were. Counts from an earlier epoch are void.
    package var epoch: Int64

    package init(key: String, count: Int64, lastAt: Int64, endsAt: Int64, epoch: Int64 = 0) {
        self.key = key
        self.count = count
        self.lastAt = lastAt
        self.endsAt = endsAt
        self.epoch = epoch
    }
}

/// The records on which the decision about one call depends.
package struct LimitStanding: Sendable, Equatable {
    /// Whether the device has signed in to the account.
    package var knowsDevice: Bool
    /// The failures of the requested keys; only of keys that have some or were reset.
    package var failures: [FailureRecord]
    /// The account last proven to own a name, as the key that counts its failures; nil if unknown.
    package var account: String?

    package init(knowsDevice: Bool, failures: [FailureRecord], account: String? = nil) {
        self.knowsDevice = knowsDevice
        self.failures = failures
        self.account = account
    }
}

/// Persistent storage of the limits' counters. Each call is atomic, so several processes may share the counters.
package protocol LimitRecords: Sendable {
    /// Whether gateways on several machines share these counters. If so, the counts are unknown while the store cannot
    /// be read.
    var areShared: Bool { get }
    /// Adds to counters. A count of 0 adds nothing and reads the total.
    ///
    /// - Returns: the totals, in the order given.
    func add(_ counts: [CountRecord]) async throws -> [Int64]
    /// Adds one failure to each key.
    ///
    /// - Returns: the consecutive failures after this one, in the order given.
    func addFailures(of keys: [String], at milliseconds: Int64, endsAt: Int64) async throws -> [FailureRecord]
    /// Resets the failures of a key and starts a new epoch.
    ///
    /// - Parameter endsAt: the earliest time at which the epoch may be deleted: as late as any process may still have
    ///   the failures in memory.
    func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord
    /// Stores, until `endsAt`, that a device has signed in to an account.
    func remember(device key: String, endsAt: Int64) async throws
    /// Reads, in one snapshot, whether a device is known, and the failures of the keys.
    ///
    /// - Parameter device: nil if there is none.
    func standing(ofDevice device: String?, failures keys: [String], now: Int64) async throws -> LimitStanding
    /// As ``standing(ofDevice:failures:now:)``, with the account that owns a name.
    ///
    /// - Parameter name: the key that counts the name's failures; nil if there is none.
    func standing(
        ofDevice device: String?, failures keys: [String], name: String?, now: Int64
    ) async throws -> LimitStanding
    /// Stores, until `endsAt`, that a name belongs to an account. Both are keys that count failures.
    func remember(account: String, of name: String, endsAt: Int64) async throws
    func counts(now: Int64, limit: Int) async throws -> [CountRecord]
    /// Returns failures that have not been reset.
    func failures(now: Int64, limit: Int) async throws -> [FailureRecord]
    /// Deletes expired records and, beyond `limit`, those that expire first. The limit of known devices is
    /// ``devicesPerKey`` times as high: without them, anybody can lock out their users.
    func removeEnded(now: Int64, limit: Int) async throws
}

extension LimitRecords {
    /// The number of known devices stored for each key of the other counters.
    package static var devicesPerKey: Int { 10 }
}

/// On one machine, each process tracks the accounts of names itself.
extension LimitRecords {
    package var areShared: Bool { false }

    package func standing(
        ofDevice device: String?, failures keys: [String], name: String?, now: Int64
    ) async throws -> LimitStanding {
        try await standing(ofDevice: device, failures: keys, now: now)
    }

    package func remember(account: String, of name: String, endsAt: Int64) async throws {}
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
                """),
        Store.Migration(
            name: "limits-2", sql: "ALTER TABLE sign_in_failures ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0"),
    ]

    private static let failureColumns = "key, count, last_at, ends_at, epoch"

    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func add(_ counts: [CountRecord]) async throws -> [Int64] {
        try await store.write { database in
            try counts.map { record in
                guard record.count > 0 else {
                    return try Int64.fetchOne(
                        database, sql: "SELECT count FROM limit_counts WHERE key = ? AND window = ?",
                        arguments: [record.key, record.window]) ?? 0
                }
                return try Int64.fetchOne(
                    database,
                    sql: """
                        INSERT INTO limit_counts (key, window, count, ends_at) VALUES (?, ?, ?, ?)
                        ON CONFLICT (key, window) DO UPDATE SET count = limit_counts.count + excluded.count
                        RETURNING count
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
                let row = try Row.fetchOne(
                    database,
                    sql: """
                        INSERT INTO sign_in_failures (key, count, last_at, ends_at) VALUES (?, 1, ?, ?)
                        ON CONFLICT (key) DO UPDATE SET
                            count = CASE WHEN sign_in_failures.ends_at * 1000 > excluded.last_at
                                THEN sign_in_failures.count + 1 ELSE 1 END,
                            -- Not the later ones: a clock that was ahead would keep them there.
                            last_at = excluded.last_at, ends_at = excluded.ends_at
                        RETURNING \(Self.failureColumns)
                        """,
                    arguments: [key, milliseconds, endsAt])
                guard let row else { throw StoreError.rowVanished }
                return FailureRecord(row)
            }
        }
    }

    package func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord {
        try await store.write { database in
            let row = try Row.fetchOne(
                database,
                sql: """
                    INSERT INTO sign_in_failures (key, count, last_at, ends_at, epoch) VALUES (?1, 0, ?2, ?3, ?2)
                    ON CONFLICT (key) DO UPDATE SET
                        count = 0,
                        ends_at = CASE WHEN sign_in_failures.ends_at > excluded.ends_at
                            THEN sign_in_failures.ends_at ELSE excluded.ends_at END,
                        epoch = CASE WHEN sign_in_failures.epoch < excluded.epoch
                            THEN excluded.epoch ELSE sign_in_failures.epoch + 1 END
                    RETURNING \(Self.failureColumns)
                    """,
                arguments: [key, milliseconds, endsAt])
            guard let row else { throw StoreError.rowVanished }
            return FailureRecord(row)
        }
    }

    package func remember(device key: String, endsAt: Int64) async throws {
        try await store.write { database in
            try database.execute(
                sql: """
                    INSERT INTO known_devices (key, ends_at) VALUES (?, ?)
                    ON CONFLICT (key) DO UPDATE SET ends_at = CASE WHEN known_devices.ends_at > excluded.ends_at
                        THEN known_devices.ends_at ELSE excluded.ends_at END
                    """,
                arguments: [key, endsAt])
        }
    }

    package func standing(
        ofDevice device: String?, failures keys: [String], now: Int64
    ) async throws -> LimitStanding {
        let pruning = store.pruningTime(now)
        return try await store.lookUp { database in
            let knows =
                try device.flatMap { key in
                    try Bool.fetchOne(
                        database.cachedStatement(sql: "SELECT TRUE FROM known_devices WHERE key = ? AND ends_at > ?"),
                        arguments: [key, now])
                } ?? false
            let statement = try database.cachedStatement(
                sql: "SELECT \(Self.failureColumns) FROM sign_in_failures WHERE key = ? AND ends_at > ?")
            let failures = try keys.compactMap { try Row.fetchOne(statement, arguments: [$0, pruning]) }
            return LimitStanding(knowsDevice: knows, failures: failures.map(FailureRecord.init))
        }
    }

    package func counts(now: Int64, limit: Int) async throws -> [CountRecord] {
        let pruning = store.pruningTime(now)
        return try await store.read { database in
            try Row.fetchAll(
                database,
                // The newest rows, sorted by window.
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
                    SELECT \(Self.failureColumns) FROM sign_in_failures
                    WHERE ends_at > ? AND count > 0 ORDER BY ends_at DESC LIMIT ?
                    """,
                arguments: [pruning, limit]
            ).map(FailureRecord.init)
        }
    }

    package func removeEnded(now: Int64, limit: Int) async throws {
        let pruning = store.pruningTime(now)
        for (table, most) in [
            ("limit_counts", limit), ("sign_in_failures", limit), ("known_devices", limit * Self.devicesPerKey),
        ] {
            try await store.removeInSteps(table, where: "ends_at <= ?", [pruning])
            // Rows beyond the limit are removed, those that expire first before the others.
            let first = try await store.read { database in
                try Int64.fetchOne(
                    database, sql: "SELECT ends_at FROM \(table) ORDER BY ends_at DESC LIMIT 1 OFFSET ?",
                    arguments: [max(0, most - 1)])
            }
            if let first { try await store.removeInSteps(table, where: "ends_at < ?", [first]) }
        }
    }
}

extension FailureRecord {
    fileprivate init(_ row: Row) {
        self.init(
            key: row["key"], count: row["count"], lastAt: row["last_at"], endsAt: row["ends_at"], epoch: row["epoch"])
    }
}
