internal import Encoding
internal import GRDB

/// A message for another service, delivered at least once.
package struct OutboxMessage: Sendable, Equatable {
    /// The key by which the receiver recognizes duplicates.
    package var key: String
    /// The receiver's name.
    package var destination: String
    /// The message's kind, for the log.
    package var kind: String
    /// The user whom the message is about; nil if unknown.
    package var subject: String?
    package var body: String
    /// Milliseconds since 1970, here and below.
    package var createdAt: Int64
    package var dueAt: Int64
    /// The number of delivery attempts.
    package var attempts: Int
    /// Whether no later message supersedes this one. Such messages have a separate limit.
    package var mustArrive: Bool

    /// Whether the message reports that its user was deleted. It replaces the user's messages that are still waiting.
    package var isOfDeletion: Bool { mustArrive && kind.hasSameBytes(as: "deleted") }

    package init(
        key: String, destination: String, kind: String, subject: String? = nil, body: String, createdAt: Int64,
        mustArrive: Bool = false
    ) {
        self.key = key
        self.destination = destination
        self.kind = kind
        self.subject = subject
        self.body = body
        self.createdAt = createdAt
        dueAt = createdAt
        attempts = 0
        self.mustArrive = mustArrive
    }
}

/// The number of messages waiting for one destination, either of those that must arrive or of the others.
package struct OutboxCount: Sendable {
    package var destination: String
    package var mustArrive: Bool
    package var count: Int

    package init(destination: String, mustArrive: Bool, count: Int) {
        self.destination = destination
        self.mustArrive = mustArrive
        self.count = count
    }
}

/// Persistent storage of undelivered messages. Each call is atomic.
package protocol OutboxRecords: Sendable {
    /// Stores a message, regardless of the number waiting. When this returns, the message survives the end of the
    /// process.
    ///
    /// - Returns: false if there is already a message with this key.
    func add(_ message: OutboxMessage) async throws -> Bool
    /// Returns due messages for one destination, oldest first. This counts as an attempt. They are due again after the
    /// lease and a pause that doubles with each attempt. Two processes never send a message at the same time. If the
    /// process ends, its messages are sent again; a message that crashes the process is sent ever more rarely.
    ///
    /// - Parameters:
    ///   - lease: milliseconds; longer than any attempt takes.
    ///   - longestPause: milliseconds. A message due later than any lease and pause allow was postponed by a clock that
    ///     has been set back since, and is due now.
    func claim(
        for destination: String, now: Int64, lease: Int64, longestPause: Int64, limit: Int
    ) async throws -> [OutboxMessage]
    /// Removes a delivered message.
    func remove(key: String) async throws
    func postpone(key: String, until: Int64) async throws
    /// Removes and returns the oldest messages that exceed an age, a few hundred at most.
    ///
    /// - Parameters:
    ///   - age: milliseconds.
    ///   - now: milliseconds since 1970; while this time is not trusted, an earlier time is used (``PruningClock``).
    func removeOlder(than age: Int64, now: Int64) async throws -> [OutboxMessage]
    /// The number of messages waiting for each destination. This scans all messages.
    func counts() async throws -> [OutboxCount]
}

extension OutboxRecords {
    /// The number of waiting messages.
    package func count() async throws -> Int { try await counts().reduce(0) { $0 + $1.count } }
}

/// The outbox in SQLite.
package struct StoredOutbox: OutboxRecords {
    package static let migrations = [
        Store.Migration(
            name: "outbox-1",
            sql: """
                CREATE TABLE outbox (
                    key TEXT NOT NULL PRIMARY KEY,
                    destination TEXT NOT NULL,
                    kind TEXT NOT NULL,
                    subject TEXT,
                    body TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX outbox_by_due ON outbox (due_at);
                CREATE INDEX outbox_by_creation ON outbox (created_at);
                """),
        Store.Migration(
            name: "outbox-2",
            sql: """
                ALTER TABLE outbox ADD COLUMN must_arrive INTEGER NOT NULL DEFAULT 0;
                UPDATE outbox SET must_arrive = 1
                    WHERE destination = 'apple' OR destination = 'user_sync' AND kind = 'deleted';
                DROP INDEX outbox_by_due;
                CREATE INDEX outbox_by_destination ON outbox (destination, due_at);
                CREATE INDEX outbox_by_room ON outbox (destination, must_arrive);
                """),
    ]

    private static let columns = "key, destination, kind, subject, body, created_at, due_at, attempts, must_arrive"
    /// The largest difference between two processes' leases, in milliseconds.
    private static let leaseDifference: Int64 = 60_000
    private let store: Store

    package init(_ store: Store) {
        self.store = store
    }

    package func add(_ message: OutboxMessage) async throws -> Bool {
        // With a creation time from a slow clock, the message would be too old as soon as the clock is corrected.
        var message = message
        message.createdAt = max(message.createdAt, store.believedTime(message.createdAt / 1000) * 1000)
        return try await store.write { [message] database in
            if message.isOfDeletion {
                try database.execute(
                    sql: "DELETE FROM outbox WHERE destination = ? AND subject = ? AND NOT must_arrive",
                    arguments: [message.destination, message.subject])
            }
            return try Self.add(message, in: database)
        }
    }

    /// - Parameter limit: the maximum number of messages waiting for the destination, of those that must arrive or of
    ///   the others; nil: no limit, and the messages are not counted.
    static func add(_ message: OutboxMessage, limit: Int? = nil, in database: Database) throws -> Bool {
        if let limit {
            let waiting = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM outbox WHERE destination = ? AND must_arrive = ?",
                arguments: [message.destination, message.mustArrive])
            guard waiting ?? 0 < limit else { return false }
        }
        try database.execute(
            sql: "INSERT INTO outbox (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            arguments: [
                message.key, message.destination, message.kind, message.subject, message.body, message.createdAt,
                message.dueAt, message.attempts, message.mustArrive,
            ])
        return database.changesCount > 0
    }

    package func claim(
        for destination: String, now: Int64, lease: Int64, longestPause: Int64, limit: Int
    ) async throws -> [OutboxMessage] {
        try await store.write { database in
            // Attempts are clamped to the range of the shift and the column, whatever value is stored.
            try Row.fetchAll(
                database,
                sql: """
                    UPDATE outbox SET
                        due_at = ?1 + min(1000 << max(0, min(attempts, 20)), ?2),
                        attempts = max(0, min(attempts, 1000000)) + 1
                    WHERE key IN (
                        SELECT * FROM (
                            SELECT key FROM outbox WHERE destination = ?3 AND due_at <= ?4
                            ORDER BY due_at, created_at LIMIT ?6)
                        UNION ALL SELECT * FROM (
                            SELECT key FROM outbox WHERE destination = ?3 AND due_at > ?5 LIMIT ?6)
                        LIMIT ?6)
                    RETURNING \(Self.columns)
                    """,
                arguments: [
                    now + lease, longestPause, destination, now, now + lease + longestPause + Self.leaseDifference,
                    limit,
                ]
            ).map(Self.message).sorted { $0.createdAt < $1.createdAt }
        }
    }

    package func remove(key: String) async throws {
        try await store.write { try $0.execute(sql: "DELETE FROM outbox WHERE key = ?", arguments: [key]) }
    }

    package func postpone(key: String, until: Int64) async throws {
        try await store.write {
            try $0.execute(sql: "UPDATE outbox SET due_at = ? WHERE key = ?", arguments: [until, key])
        }
    }

    package func removeOlder(than age: Int64, now: Int64) async throws -> [OutboxMessage] {
        let time = min(now, (store.pruningTime(now / 1000) + 1) * 1000) - age
        return try await store.write { database in
            try Row.fetchAll(
                database,
                sql: """
                    DELETE FROM outbox WHERE key IN
                        (SELECT key FROM outbox WHERE created_at < ? ORDER BY created_at LIMIT ?)
                    RETURNING \(Self.columns)
                    """,
                arguments: [time, Store.removedAtOnce]
            ).map(Self.message)
        }
    }

    package func counts() async throws -> [OutboxCount] {
        try await store.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT destination, must_arrive, count(*) AS n FROM outbox GROUP BY destination, must_arrive"
            ).map { OutboxCount(destination: $0["destination"], mustArrive: $0["must_arrive"], count: $0["n"]) }
        }
    }

    private static func message(_ row: Row) -> OutboxMessage {
        var message = OutboxMessage(
            key: row["key"], destination: row["destination"], kind: row["kind"], subject: row["subject"],
            body: row["body"], createdAt: row["created_at"])
        message.dueAt = row["due_at"]
        message.attempts = row["attempts"]
        message.mustArrive = row["must_arrive"]
        return message
    }
}
