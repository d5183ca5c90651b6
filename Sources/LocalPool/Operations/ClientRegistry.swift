internal import Cryptography
internal import Encoding
internal import GRDB
internal import Locking
internal import Store

/// The pool's app clients: those of the configuration, and those created at run time, which are in the database.
final class ClientRegistry: Sendable {
    private let configured: [ClientAuthentication]
    private let made: Locked<[AppClientRecord]>

    init(_ clients: [LocalPoolConfiguration.Client], store: Store) throws {
        configured = clients.map { ClientAuthentication($0) }
        made = Locked(try store.writeBlocking { try AppClientRecord.all(in: $0) })
    }

    /// All clients, those of the configuration first.
    var clients: [ClientAuthentication] { configured + records.map(\.authentication) }

    var records: [AppClientRecord] { made.withLock { $0 } }

    func isConfigured(_ id: String) -> Bool { configured.contains { $0.clientID == id } }

    /// Adds or replaces a client after it was stored.
    func put(_ client: AppClientRecord) {
        made.withLock { clients in
            clients.removeAll { $0.id == client.id }
            clients.append(client)
        }
    }

    func remove(_ id: String) { made.withLock { clients in clients.removeAll { $0.id == id } } }
}

/// An app client that was created at run time.
struct AppClientRecord: Sendable {
    var id: String
    /// Nil for a public client.
    var secret: Secret?
    /// The members of CreateUserPoolClient, or of the last UpdateUserPoolClient.
    var description: JSONObject
    var createdAt: Int64
    var changedAt: Int64

    var authentication: ClientAuthentication {
        var client = ClientAuthentication(clientID: id, secret: secret)
        let flows = description["ExplicitAuthFlows"]?.strings ?? Self.standardFlows
        client.flows = Set(flows.map { $0.hasPrefix("ALLOW_") ? $0 : "ALLOW_\($0)" })
        client.writeAttributes = description["WriteAttributes"]?.strings
        client.readAttributes = description["ReadAttributes"]?.strings
        return client
    }

    /// The flows of a client whose request names none.
    private static let standardFlows = ["ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH", "ALLOW_CUSTOM_AUTH"]

    static func all(in database: Database) throws -> [AppClientRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM app_clients ORDER BY created_at, id").map(AppClientRecord.init)
    }

    func save(in database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO app_clients (id, secret, description, created_at, changed_at)
                VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [id, secret?.exposeText(), JSON.object(description).text, createdAt, changedAt])
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM app_clients WHERE id = ?", arguments: [id])
    }
}

extension AppClientRecord {
    fileprivate init(_ row: Row) throws {
        let secret: String? = row["secret"]
        self.init(
            id: row["id"], secret: secret.map { Secret($0) },
            description: try JSON.parse(text: row["description"]).objectValue ?? [:], createdAt: row["created_at"],
            changedAt: row["changed_at"])
    }
}
