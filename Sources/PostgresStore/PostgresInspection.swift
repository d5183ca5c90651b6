internal import Encoding
package import Postgres
package import Store

/// The result of checking a database for use by several gateways. The check changes nothing.
package struct PostgresInspection: Sendable, Equatable {
    /// PostgreSQL's version number, such as 150004.
    package var serverVersion: Int
    package var schema: StoreReport.Schema
    /// The gateway's time of day minus the database's, in milliseconds.
    package var clockDifference: Int64

    /// The oldest supported version of PostgreSQL. The statements need snapshots of 64 bits, introduced in version 13.
    package static let oldestServer = 14_00_00

    /// - Parameter now: the time of day, in milliseconds since 1970.
    /// - Throws: ``PostgresStartError`` for every condition that prevents a gateway from starting.
    package static func look(
        _ settings: PostgresSettings, now: @Sendable () -> Int64
    ) async throws(PostgresStartError) -> PostgresInspection {
        do {
            let version = try await requireServer(settings)
            let store = PostgresStore(PostgresPool(settings, size: 1))
            try await requireRights(store, settings)
            let schema = try await store.schema()
            switch schema {
            case .newer(let unknown): throw StoreError.newerSchema(unknown)
            case .older: try await requireRightToMakeTables(store, settings)
            case .current, .unreadable: break
            }
            let asked = now()
            let rows = try await store.rows("SELECT \(PostgresClock.now) AS now")
            guard let time = try rows.first?.integer("now") else { throw StoreError.rowVanished }
            // The reading is attributed to the middle of the round trip.
            return PostgresInspection(
                serverVersion: version, schema: schema, clockDifference: (asked + now()) / 2 - time)
        } catch {
            throw PostgresStartError(error, settings)
        }
    }

    /// - Returns: the server's version.
    /// - Throws: ``PostgresStartError`` if the version is too old, or if the database's encoding lacks characters.
    @discardableResult
    static func requireServer(_ settings: PostgresSettings) async throws -> Int {
        let connection = try await PostgresConnection.connect(settings)
        defer { connection.close() }
        let rows = try await connection.query(
            "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')")
        guard let row = rows.first, case .integer(let version) = row.first, case .text(let encoding) = row.last else {
            throw StoreError.rowVanished
        }
        guard version >= oldestServer else { throw PostgresStartError.serverTooOld(Int(version)) }
        // SQL_ASCII stores all bytes unchanged.
        guard encoding.isOne(of: ["UTF8", "SQL_ASCII"]) else { throw PostgresStartError.encoding(encoding, settings) }
        return Int(version)
    }

    /// - Throws: ``PostgresStartError`` if the role lacks a right on an existing table. It owns the tables that it
    ///   creates itself.
    static func requireRights(_ store: PostgresStore, _ settings: PostgresSettings) async throws {
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"].map { "has_table_privilege(t.id, '\($0)')" }
        let rows = try await store.rows(
            """
            SELECT t.name FROM (SELECT name, to_regclass(name) AS id FROM unnest($1::text[]) AS name) AS t
            WHERE t.id IS NOT NULL AND NOT (\(rights.joined(separator: " AND "))) ORDER BY t.name
            """, [.array(PostgresStore.tables)])
        let tables = try rows.map { try $0.text("name") }
        guard tables.isEmpty else { throw PostgresStartError.missingRights(on: tables, settings) }
    }

    private static func requireRightToMakeTables(_ store: PostgresStore, _ settings: PostgresSettings) async throws {
        let rows = try await store.rows(
            "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), FALSE) AS may")
        guard try rows.first?.boolean("may") == true else { throw PostgresStartError.mayNotMakeTables(settings) }
    }
}

extension PostgresStore {
    /// The database's schema compared with this version's. Steps of a newer version that keep this one working are
    /// accepted as current.
    func schema() async throws -> StoreReport.Schema {
        let exists = try await rows("SELECT to_regclass('gatehouse_migrations') IS NOT NULL AS does")
        let names = Self.migrations.map(\.name)
        guard try exists.first?.boolean("does") == true else { return .older(missing: names) }
        let known = try await rows(Self.knownSteps)
        let found = try known.map { (name: try $0.text("name"), isHarmless: try $0.boolean("keeps_older_working")) }
        let breaking = found.filter { step in !step.isHarmless && !names.contains { $0 == step.name } }
        guard breaking.isEmpty else { return .newer(unknown: breaking.map(\.name)) }
        let missing = names.filter { name in !found.contains { $0.name == name } }
        return missing.isEmpty ? .current : .older(missing: missing)
    }
}
