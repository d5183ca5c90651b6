import Foundation
import Testing

@testable import Postgres
@testable import PostgresStore

/// pgbouncer in transaction mode before the shared server, with two connections to it for all clients.
final class Pooler: Sendable {
    static let program: String? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let places = [root.standardizedFileURL.path + "/.build/tools/usr/sbin/pgbouncer", "/usr/sbin/pgbouncer"]
        return places.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    let port: Int
    private let process: FileHandle

    init(before server: PostgresServer) throws {
        port = try PostgresServer.freePort()
        let directory = server.directory + "-pooler-\(port)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(server.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = scram-sha-256
            auth_file = \(directory)/users
            pool_mode = transaction
            default_pool_size = 2
            """
        try settings.write(toFile: directory + "/pgbouncer.ini", atomically: true, encoding: .utf8)
        let users = "\"gatehouse\" \"\(PostgresServer.password)\"\n"
        try users.write(toFile: directory + "/users", atomically: true, encoding: .utf8)
        let command = PostgresServer.unprivileged + [Self.program ?? "pgbouncer", directory + "/pgbouncer.ini"]
        // Other signals are blocked in children of Dispatch's threads, and pgbouncer leaves them so.
        process = try PostgresServer.launch(command, in: directory, until: "process up", signal: "KILL")
    }
}

extension PostgresTests {
    @Suite("Pooler", .enabled(if: Pooler.program != nil))
    struct PoolerTests {
        @Test("Statements of many connections share the pooler's few, and transactions stay together")
        func transactionMode() async throws {
            let server = try PostgresServer.shared.get()
            let pooler = try Pooler(before: server)
            var settings = server.settings()
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: pooler.port)]
            // Settings in the start of a connection are what such a pooler refuses.
            let refusal = await PostgresTests.error { [settings] in _ = try await PostgresConnection.connect(settings) }
            #expect(refusal?.message.contains("startup parameter") == true, "\(String(describing: refusal))")
            let unset = settings
            let start = await #expect(throws: PostgresStartError.self) { _ = try await PostgresState.open(unset) }
            #expect(start?.kind == .pooler && start?.description.contains("state.postgres.pooler") == true)
            settings.hasPooler = true
            let pool = PostgresPool(settings)
            let results = try await withThrowingTaskGroup(of: (Int, [PostgresValue]).self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let sql = "SELECT $1::int8, pg_backend_pid()"
                        return (number, try await pool.query(sql, [.integer(Int64(number))]).first ?? [])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.allSatisfy { $1.first == .integer(Int64($0)) })
            #expect((1...2).contains(Set(results.map { "\($1[1])" }).count))
            let processes = try await pool.withConnection { connection in
                _ = try await connection.query("BEGIN")
                let first = try await PostgresTests.value(connection, "SELECT pg_backend_pid()")
                let second = try await PostgresTests.value(connection, "SELECT pg_backend_pid()")
                _ = try await connection.query("COMMIT")
                return [first, second]
            }
            #expect(processes[0] == processes[1])
            try await pool.close()
            _ = pooler
        }
    }
}
