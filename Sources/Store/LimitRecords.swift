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
    /// When the failures were last reset, in milliseconds since 1970, and greater with each reset; 0 where they never
    /// were. Whoever has counted under an earlier epoch counts anew.
    package var epoch: Int64

    package init(key: String, count: Int64, lastAt: Int64, endsAt: Int64, epoch: Int64 = 0) {
        self.key = key
        self.count = count
        self.lastAt = lastAt
        self.endsAt = endsAt
        self.epoch = epoch
    }
}

/// The records that decide about one call.
package struct LimitStanding: Sendable, Equatable {
    /// Whether the device has signed in to the account.
    package var knowsDevice: Bool
    /// The failures of those keys of which there are any, or were until a reset.
    package var failures: [FailureRecord]
    /// The account that a name was last proven to be of, by the key that counts its failures; nil: nobody knows.
    package var account: String?

    package init(knowsDevice: Bool, failures: [FailureRecord], account: String? = nil) {
        self.knowsDevice = knowsDevice
        self.failures = failures
        self.account = account
    }
}

/// Where the counters of limits outlast the process. Each call is one atomic step, so that several processes may share
/// them.
package protocol LimitRecords: Sendable {
    /// Whether gateways on several machines count here. Then nobody knows what was counted while it cannot be read.
    var areShared: Bool { get }
    /// Adds to what was counted. A count of 0 adds nothing, and asks for the total.
    ///
    /// - Returns: the totals, in the order given.
    func add(_ counts: [CountRecord]) async throws -> [Int64]
    /// Adds one failure to each.
    ///
    /// - Returns: how many there are in a row now, in the order given.
    func addFailures(of keys: [String], at milliseconds: Int64, endsAt: Int64) async throws -> [FailureRecord]
    /// Forgets the failures of a key, and begins an epoch.
    ///
    /// - Parameter endsAt: until when the epoch is known at least: as long as anyone may remember the failures.
    func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord
    /// A device that has signed in to an account, until `endsAt`.
    func remember(device key: String, endsAt: Int64) async throws
    /// Reads, at one moment, whether a device is known and what has failed.
    ///
    /// - Parameter device: nil where there is none.
    func standing(ofDevice device: String?, failures keys: [String], now: Int64) async throws -> LimitStanding
    /// As ``standing(ofDevice:failures:now:)``, with the account that a name is of.
    ///
    /// - Parameter name: the key that counts the failures of the name; nil where there is none.
    func standing(
        ofDevice device: String?, failures keys: [String], name: String?, now: Int64
    ) async throws -> LimitStanding
    /// Somebody has signed in by a name, until `endsAt`. Both are keys that count failures.
    func remember(account: String, of name: String, endsAt: Int64) async throws
    func counts(now: Int64, limit: Int) async throws -> [CountRecord]
    /// Failures that have not been reset.
    func failures(now: Int64, limit: Int) async throws -> [FailureRecord]
    /// Forgets what has ended, and beyond `limit` what ends soonest: beyond ``devicesPerKey`` times as many of known
    /// devices, without which anybody can lock their users out.
    func removeEnded(now: Int64, limit: Int) async throws
}

extension LimitRecords {
    /// How many known devices are kept for each key of the other counters.
    package static var devicesPerKey: Int { 10 }
}

/// On one machine each process knows the accounts of names by itself.
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
            // Rows beyond the limit go, those that end first before the others.
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
