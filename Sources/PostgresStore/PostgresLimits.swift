internal import Postgres
package import Store

/// Counters in PostgreSQL. Their keys are hashes, so they cannot contain U+0000, which PostgreSQL's text does not
/// allow.
package struct PostgresLimits: LimitRecords {
    static let migrations = [
        PostgresStore.Migration(
            name: "limits-1",
            statements: [
                """
                CREATE TABLE limit_counts (
                    key text COLLATE "C" NOT NULL,
                    window_number bigint NOT NULL,
                    count bigint NOT NULL,
                    ends_at bigint NOT NULL,
                    PRIMARY KEY (key, window_number)
                )
                """,
                "CREATE INDEX limit_counts_by_end ON limit_counts (ends_at)",
                """
                CREATE TABLE sign_in_failures (
                    key text COLLATE "C" PRIMARY KEY,
                    count bigint NOT NULL,
                    last_at bigint NOT NULL,
                    ends_at bigint NOT NULL,
                    epoch bigint NOT NULL DEFAULT 0
                )
                """,
                "CREATE INDEX sign_in_failures_by_end ON sign_in_failures (ends_at)",
                """
                CREATE TABLE known_devices (
                    key text COLLATE "C" PRIMARY KEY,
                    ends_at bigint NOT NULL
                )
                """,
                "CREATE INDEX known_devices_by_end ON known_devices (ends_at)",
            ]),
        PostgresStore.Migration(
            name: "limits-2",
            statements: [
                """
                CREATE TABLE accounts_of_names (
                    name text COLLATE "C" PRIMARY KEY,
                    account text COLLATE "C" NOT NULL,
                    ends_at bigint NOT NULL
                )
                """,
                "CREATE INDEX accounts_of_names_by_end ON accounts_of_names (ends_at)",
            ]),
    ]

    /// The tables, their key columns, and the number of rows stored for each row of the limit.
    private static let tables = [
        ("limit_counts", ["key", "window_number"], 1), ("sign_in_failures", ["key"], 1),
        ("known_devices", ["key"], PostgresLimits.devicesPerKey), ("accounts_of_names", ["name"], 1),
    ]

    /// The columns, qualified with the alias `l`.
    static let failureColumns = "l.key, l.count, l.last_at, l.ends_at, l.epoch"

    package let areShared = true
    let store: PostgresStore
    let clock: any RecordClock

    /// - Parameter clock: the clock by which records expire, as protection against a time of day that is ahead.
    package init(_ store: PostgresStore, clock: any RecordClock) {
        self.store = store
        self.clock = clock
    }

    package func add(_ counts: [CountRecord]) async throws -> [Int64] {
        let asked = counts.filter { $0.count == 0 }
        guard asked.isEmpty else {
            var (known, added) = (try await totals(of: asked)[...], try await add(counts.filter { $0.count > 0 })[...])
            return counts.compactMap { $0.count == 0 ? known.popFirst() : added.popFirst() }
        }
        guard !counts.isEmpty else { return [] }
        let once = SummedOnce(
            counts.map { (RowKey($0.key, $0.window), $0.count) }, endsAt: counts.map(\.endsAt))
        // One statement for any number of rows: a list of VALUES could exceed PostgreSQL's maximum number of
        // parameters.
        let totals = try await store.repeatedRows(
            """
            INSERT INTO limit_counts AS l (key, window_number, count, ends_at)
            SELECT n.key, n.window_number, n.count, n.ends_at
            FROM unnest($1::text[], $2::int8[], $3::int8[], $4::int8[]) AS n (key, window_number, count, ends_at)
            ON CONFLICT (key, window_number) DO UPDATE SET count = l.count + excluded.count
            RETURNING key, window_number, count
            """,
            [
                .array(once.sums.map { $0.key.text }), .array(once.sums.map { $0.key.window }),
                .array(once.sums.map { $0.count }), .array(once.sums.map { $0.endsAt }),
            ])
        let byKey = Dictionary(
            uniqueKeysWithValues: try totals.map {
                (RowKey(try $0.text("key"), try $0.integer("window_number")), try $0.integer("count"))
            })
        return try once.later.map { key, later in
            guard let total = byKey[key] else { throw StoreError.rowVanished }
            return total - later
        }
    }

    private func totals(of counts: [CountRecord]) async throws -> [Int64] {
        let rows = try await store.rows(
            """
            SELECT key, window_number, count FROM limit_counts
            WHERE (key, window_number) IN (SELECT * FROM unnest($1::text[], $2::int8[]))
            """, [.array(counts.map(\.key)), .array(counts.map(\.window))])
        let byKey = Dictionary(
            uniqueKeysWithValues: try rows.map {
                (RowKey(try $0.text("key"), try $0.integer("window_number")), try $0.integer("count"))
            })
        return counts.map { byKey[RowKey($0.key, $0.window)] ?? 0 }
    }

    package func addFailures(
        of keys: [String], at milliseconds: Int64, endsAt: Int64
    ) async throws -> [FailureRecord] {
        guard !keys.isEmpty else { return [] }
        let (milliseconds, endsAt) = shared(milliseconds, endsAt: endsAt)
        let once = SummedOnce(keys.map { (RowKey($0), 1) }, endsAt: keys.map { _ in endsAt })
        var parameters = PostgresParameters()
        let rows = once.sums.map {
            parameters.row([.text($0.key.text), .integer($0.count), .integer(milliseconds), .integer($0.endsAt)])
        }
        let found = try await store.repeatedRows(
            """
            INSERT INTO sign_in_failures AS l (key, count, last_at, ends_at) VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (key) DO UPDATE SET
                count = CASE WHEN l.ends_at * 1000 > excluded.last_at THEN l.count ELSE 0 END + excluded.count,
                -- Not the later ones: a clock that was ahead would keep them there.
                last_at = excluded.last_at, ends_at = excluded.ends_at
            RETURNING \(Self.failureColumns)
            """, parameters.values)
        let byKey = Dictionary(uniqueKeysWithValues: try found.map(FailureRecord.init).map { (RowKey($0.key), $0) })
        return try once.later.map { key, later in
            guard var record = byKey[key] else { throw StoreError.rowVanished }
            record.count -= later
            return record
        }
    }

    package func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord {
        let (milliseconds, endsAt) = shared(milliseconds, endsAt: endsAt)
        let rows = try await store.repeatedRows(
            """
            INSERT INTO sign_in_failures AS l (key, count, last_at, ends_at, epoch) VALUES ($1, 0, $2, $3, $2)
            ON CONFLICT (key) DO UPDATE SET
                count = 0,
                ends_at = GREATEST(l.ends_at, excluded.ends_at),
                epoch = CASE WHEN l.epoch < excluded.epoch THEN excluded.epoch ELSE l.epoch + 1 END
            RETURNING \(Self.failureColumns)
            """, [.text(key), .integer(milliseconds), .integer(endsAt)])
        guard let row = rows.first else { throw StoreError.rowVanished }
        return try FailureRecord(row)
    }

    /// Converts both times to the clock that all gateways share.
    private func shared(_ milliseconds: Int64, endsAt: Int64) -> (at: Int64, endsAt: Int64) {
        let time = clock.sharedMilliseconds(milliseconds)
        return (time, endsAt + (time - milliseconds) / 1000)
    }

    package func remember(device key: String, endsAt: Int64) async throws {
        try await store.run(
            """
            INSERT INTO known_devices AS l (key, ends_at) VALUES ($1, $2)
            ON CONFLICT (key) DO UPDATE SET ends_at = excluded.ends_at WHERE l.ends_at < excluded.ends_at
            """, [.text(key), .integer(endsAt)])
    }

    package func remember(account: String, of name: String, endsAt: Int64) async throws {
        try await store.run(
            """
            INSERT INTO accounts_of_names (name, account, ends_at) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET account = excluded.account, ends_at = excluded.ends_at
            """, [.text(name), .text(account), .integer(endsAt)])
    }

    package func standing(
        ofDevice device: String?, failures keys: [String], now: Int64
    ) async throws -> LimitStanding {
        try await standing(ofDevice: device, failures: keys, name: nil, now: now)
    }

    package func standing(
        ofDevice device: String?, failures keys: [String], name: String?, now: Int64
    ) async throws -> LimitStanding {
        var parameters = PostgresParameters()
        let name = parameters.add(.text(name ?? ""))
        let (device, now, pruning) = (
            parameters.add(.text(device ?? "")), parameters.add(.integer(clock.sharedTime(now))),
            parameters.add(.integer(clock.pruningTime(now)))
        )
        let names = keys.map { parameters.add(.text($0)) }
        let isMeant = names.isEmpty ? "FALSE" : "l.key IN (\(names.joined(separator: ", ")))"
        // At least one row is returned; its failure columns are NULL if there are no failures.
        let rows = try await store.rows(
            """
            SELECT EXISTS (SELECT 1 FROM known_devices WHERE key = \(device) AND ends_at > \(now)) AS knows,
                (SELECT account FROM accounts_of_names WHERE name = \(name) AND ends_at > \(now)) AS account,
                \(Self.failureColumns)
            FROM (SELECT 1) AS one LEFT JOIN sign_in_failures AS l ON \(isMeant) AND l.ends_at > \(pruning)
            """, parameters.values)
        let found = try rows.filter { try $0.optional(PostgresRow.text, "key") != nil }.map(FailureRecord.init)
        let byKey = Dictionary(uniqueKeysWithValues: found.map { (RowKey($0.key), $0) })
        return LimitStanding(
            knowsDevice: try rows.first?.boolean("knows") ?? false, failures: keys.compactMap { byKey[RowKey($0)] },
            account: try rows.first?.optional(PostgresRow.text, "account"))
    }

    package func removeEnded(now: Int64, limit: Int) async throws {
        let pruning = clock.pruningTime(now)
        // A failure with one table does not stop the others.
        var failures: [any Error] = []
        for (table, key, _) in Self.tables {
            do {
                try await store.removeInSteps(table, key: key, where: "l.ends_at <= $1", [.integer(pruning)])
            } catch {
                failures.append(error)
            }
        }
        for (table, key, rows) in Self.tables {
            do {
                try await removeEarliest(of: table, key: key, beyond: limit * rows)
            } catch {
                failures.append(error)
            }
        }
        if let first = failures.first { throw first }
    }

    /// Removes the rows beyond a limit, those that expire first before the others.
    private func removeEarliest(of table: String, key: [String], beyond limit: Int) async throws {
        let first = try await store.rowsOfLongReading(
            "SELECT ends_at FROM \(table) ORDER BY ends_at DESC LIMIT 1 OFFSET $1", [.integer(max(0, limit - 1))])
        guard let first = try first.first?.integer("ends_at") else { return }
        try await store.removeInSteps(table, key: key, where: "l.ends_at < $1", [.integer(first)])
    }
}

/// A row's key, compared by its bytes.
private struct RowKey: Hashable {
    let bytes: [UInt8]
    let window: Int64

    init(_ text: String, _ window: Int64 = 0) {
        bytes = Array(text.utf8)
        self.window = window
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    static func precedes(_ one: RowKey, _ other: RowKey) -> Bool {
        one.bytes == other.bytes ? one.window < other.window : one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}

/// Increments with duplicate rows summed. A statement can change a row only once, and it locks rows in key order to
/// avoid deadlocks.
private struct SummedOnce {
    /// Sorted by key.
    let sums: [(key: RowKey, count: Int64, endsAt: Int64)]
    /// For each increment, in the order given, the sum of the later increments of the same row.
    let later: [(key: RowKey, count: Int64)]

    init(_ numbers: [(key: RowKey, count: Int64)], endsAt: [Int64]) {
        var sums: [RowKey: (count: Int64, endsAt: Int64)] = [:]
        var later: [(RowKey, Int64)] = []
        for (number, endsAt) in zip(numbers, endsAt).reversed() {
            let after = sums[number.key]?.count ?? 0
            later.append((number.key, after))
            sums[number.key] = (after + number.count, endsAt)
        }
        self.sums = sums.map { ($0.key, $0.value.count, $0.value.endsAt) }.sorted { RowKey.precedes($0.key, $1.key) }
        self.later = later.reversed()
    }
}

extension FailureRecord {
    init(_ row: PostgresRow) throws {
        self.init(
            key: try row.text("key"), count: try row.integer("count"), lastAt: try row.integer("last_at"),
            endsAt: try row.integer("ends_at"), epoch: try row.integer("epoch"))
    }
}
