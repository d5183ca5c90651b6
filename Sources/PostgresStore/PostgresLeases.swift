internal import Postgres
package import Store

/// Leases in PostgreSQL, stored in the session's row. The lease of a session that is not stored, such as one from
/// before the records, is in a separate table.
///
/// Times are by the server's clock. A statement that has waited for another one uses the time at which it began, so a
/// lease may appear valid slightly too long.
extension PostgresSessions {
    static let leases = PostgresStore.Migration(
        name: "refresh-leases-1",
        statements: [
            "ALTER TABLE sessions ADD COLUMN lease_holder bytea, ADD COLUMN lease_ends_at timestamptz",
            """
            CREATE TABLE refresh_leases (
                family bytea PRIMARY KEY,
                holder bytea NOT NULL,
                ends_at timestamptz NOT NULL
            )
            """,
        ])

    private static let end = "now() + interval '\(RefreshLeases.lifetime) seconds'"

    /// Whether a lease has ended. One that ends much later than a lease taken now was taken while the clock was ahead;
    /// a lease taken concurrently with this statement never does.
    private static func hasEnded(_ column: String) -> String {
        "(\(column) <= now() OR \(column) > now() + interval '\(2 * RefreshLeases.lifetime) seconds')"
    }

    package func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep {
        // The conditions are checked on the newest version of the row, so a caller that has waited for another one's
        // lease or successor sees it.
        let taken = try await store.rows(
            """
            UPDATE sessions SET lease_holder = $2, lease_ends_at = \(Self.end)
            WHERE family = $1 AND generation <= $3 AND ended_at IS NULL
                AND (lease_ends_at IS NULL OR \(Self.hasEnded("lease_ends_at")))
            RETURNING \(Self.list)
            """, [.bytes(lease.family), .bytes(lease.holder), .integer(lease.generation)]
        ).first
        if let taken { return .taken(try SessionRecord(taken)) }
        guard let record = try await session(lease.family) else { return try await takeUnknown(lease) }
        return record.isPast(lease.generation) ? .passed(record) : .held
    }

    private func takeUnknown(_ lease: RefreshLease) async throws -> RefreshLeaseStep {
        let taken = try await store.run(
            """
            INSERT INTO refresh_leases AS l (family, holder, ends_at) VALUES ($1, $2, \(Self.end))
            ON CONFLICT (family) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
            WHERE \(Self.hasEnded("l.ends_at"))
            """, [.bytes(lease.family), .bytes(lease.holder)])
        guard taken > 0 else { return .held }
        // Another holder may have stored the session since the lookup; while this lease is held, none can.
        guard let record = try await session(lease.family) else { return .taken(nil) }
        try await releaseUnknown(lease)
        // The lease now belongs to the session's row: the caller's next attempt is decided there.
        return record.isPast(lease.generation) ? .passed(record) : .held
    }

    package func renew(_ lease: RefreshLease) async throws -> Bool {
        let values: [PostgresValue] = [.bytes(lease.family), .bytes(lease.holder)]
        let renewed = try await store.run(
            "UPDATE sessions SET lease_ends_at = \(Self.end) WHERE family = $1 AND lease_holder = $2", values)
        guard renewed == 0 else { return true }
        return try await store.run(
            "UPDATE refresh_leases SET ends_at = \(Self.end) WHERE family = $1 AND holder = $2", values) > 0
    }

    package func release(_ lease: RefreshLease) async throws {
        let released = try await store.run(
            """
            UPDATE sessions SET lease_holder = NULL, lease_ends_at = NULL WHERE family = $1 AND lease_holder = $2
            """, [.bytes(lease.family), .bytes(lease.holder)])
        if released == 0 { try await releaseUnknown(lease) }
    }

    private func releaseUnknown(_ lease: RefreshLease) async throws {
        try await store.run(
            "DELETE FROM refresh_leases WHERE family = $1 AND holder = $2",
            [.bytes(lease.family), .bytes(lease.holder)])
    }

    func removeEndedLeases() async throws {
        try await store.removeEnded(from: "refresh_leases", key: ["family"], where: Self.hasEnded("ends_at"), [])
    }
}
