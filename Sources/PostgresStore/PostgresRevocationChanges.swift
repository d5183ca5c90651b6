internal import Postgres
internal import Store

/// The list of revocations, changed by several gateways.
///
/// A position is a snapshot of the database: it determines for each transaction whether its rows were visible. No row
/// is missed, however late its transaction commits, and none is read twice unless it was committed between two pages. A
/// sequence number would miss rows whose transactions commit after later ones.
struct PostgresRevocationChanges: RevocationChanges {
    /// The interval at which a gateway polls without notifications, and with them, in case one was lost.
    private static let (pollingInterval, checkingInterval) = (Duration.milliseconds(250), Duration.seconds(1))
    /// The number of rows that one statement reads.
    private static let page = 1000

    private let store: PostgresStore
    private let clock: any RecordClock
    private let listener: PostgresListener?

    /// - Parameter listener: nil: changes are polled.
    init(_ store: PostgresStore, clock: any RecordClock, listener: PostgresListener?) {
        self.store = store
        self.clock = clock
        self.listener = listener
    }

    var isShared: Bool { true }
    var notice: ChangeNotice { listener?.isListening == true ? .notify : .poll }

    func signals() -> AsyncStream<Void> {
        ChangeSignals.every {
            notice == .notify ? Self.checkingInterval : Self.pollingInterval
        } listen: { [listener, pool = store.pool] ring in
            await listener?.run(pool, ring)
        }
    }

    /// Reads in pages, in key order, so that no response is large. The position is the first page's: rows committed
    /// between two pages are read again.
    func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading {
        // Notifications may have been missed before a new connection.
        let position = listener?.takeReconnected() == true ? nil : position
        if position == nil { await store.takeOverTransactions("revocations") }
        let first = try await rows(behind: nil, since: position, now: now)
        guard let row = first.first else { throw PostgresRow.MissingColumn(name: "snapshot") }
        guard try !row.boolean("is_read_only") else {
            listener?.reconnect()
            throw ReadOnlyServer()
        }
        let current = ChangePosition(origin: try row.text("origin"), mark: try row.text("snapshot"))
        if let position, position.origin != current.origin { return try await read(since: nil, now: now) }
        var records: [RevocationRecord] = []
        var page = first
        while true {
            let found = try page.compactMap { try $0.optional(PostgresRow.text, "issuer") == nil ? nil : $0 }
            records += try found.map(RevocationRecord.init)
            guard found.count == Self.page, let last = found.last else { break }
            page = try await rows(behind: last, since: position, now: now)
        }
        return RevocationReading(records: records, position: current, isWhole: position == nil)
    }

    /// A server that accepts no writes is not the one that others write to.
    private struct ReadOnlyServer: Error, CustomStringConvertible {
        var description: String { "the server takes no writes" }
    }

    /// A page, with the position in each row; a single row without a record if the page is empty.
    private func rows(
        behind row: PostgresRow?, since position: ChangePosition?, now: Int64
    ) async throws -> [PostgresRow] {
        let change =
            position == nil
            ? "$7::pg_snapshot IS NULL"
            : "changed >= pg_snapshot_xmin($7::pg_snapshot) AND NOT pg_visible_in_snapshot(changed, $7::pg_snapshot)"
        let sql = """
            SELECT (SELECT pg_current_snapshot()::text) AS snapshot, (\(PostgresOrigin.sql)) AS origin,
                (SELECT current_setting('transaction_read_only') = 'on') AS is_read_only,
                r.issuer, r.claim, r.value, r.is_sparing, r.spared, r.before, r.ends_at
            FROM (VALUES (TRUE)) AS once LEFT JOIN (
                SELECT issuer, claim, value, is_sparing, spared, before, ends_at FROM revocations
                WHERE ends_at > $1 AND (issuer, claim, value, is_sparing, spared) > ($2, $3, $4, $5, $6) AND \(change)
                ORDER BY issuer, claim, value, is_sparing, spared LIMIT \(Self.page)
            ) AS r ON TRUE
            """
        // Sorts before all keys: no claim is empty.
        var behind: [PostgresValue] = [.text(""), .text(""), .text(""), .boolean(false), .text("")]
        if let row {
            behind = [
                .text(try row.text("issuer")), .text(try row.text("claim")), .text(try row.text("value")),
                .boolean(try row.boolean("is_sparing")), .text(try row.text("spared")),
            ]
        }
        let end = PostgresValue.integer(clock.pruningTime(now) - PostgresRevocations.grace)
        let values = [end] + behind + [PostgresValue.orNull(position?.mark)]
        guard let listener, let found = try await listener.query(sql, values) else {
            return try await store.rows(sql, values)
        }
        return found.rows.map { PostgresRow(columns: found.columns, values: $0) }
    }
}

/// The database history that a position belongs to.
enum PostgresOrigin {
    /// SQL for a text that changes with each timeline, which a promotion starts, and with each start of a server, which
    /// may have been restored to an earlier time.
    static let sql = """
        SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-' || extract(epoch FROM pg_postmaster_start_time())
        """
}

extension PostgresStore {
    /// Reassigns rows of future transactions, as exist after a restore into a new server, to the current transaction.
    /// No snapshot would see them until the server has started as high a transaction number. If this fails, readings
    /// are correct but larger; the error metrics show it, and the next full reading retries.
    ///
    /// - Parameters:
    ///   - table: has an index of `changed`.
    ///   - condition: the condition of the index, if it has one.
    func takeOverTransactions(_ table: String, where condition: String = "TRUE") async {
        let sql = """
            UPDATE \(table) SET changed = pg_current_xact_id() WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM \(table) WHERE \(condition) AND changed >= pg_snapshot_xmax(pg_current_snapshot())
                LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """
        while let count = try? await run(sql), count > 0 {}
    }
}

extension RevocationRecord {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            issuer: try row.text("issuer"), claim: try row.text("claim"), value: try row.text("value"),
            before: try row.optional(PostgresRow.integer, "before"),
            sparing: try row.boolean("is_sparing") ? try row.text("spared") : nil,
            endsAt: try row.integer("ends_at"))
    }
}
