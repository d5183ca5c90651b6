import Cryptography
import Foundation
import Store
import Testing

@testable import Postgres
@testable import PostgresStore

extension PostgresTests {
    @Suite("Errors of a start with PostgreSQL")
    struct Start {
        private func error(_ settings: PostgresSettings) async throws -> PostgresStartError {
            // A look finds what the start does.
            let found = await #expect(throws: PostgresStartError.self) {
                _ = try await PostgresInspection.look(settings) { 0 }
            }
            let error = await #expect(throws: PostgresStartError.self) { _ = try await PostgresState.open(settings) }
            #expect(found?.kind == error?.kind && found?.setting == error?.setting)
            let known = try #require(error)
            #expect(!known.description.contains("\n") && known.description.contains("; "))
            #expect(!known.description.contains(PostgresServer.password))
            return known
        }

        private func role(_ server: PostgresServer, _ attributes: String = "") async throws -> PostgresSettings {
            let name = "role_" + String(UInt64.random(in: .min ... .max), radix: 36)
            let administrator = try await PostgresConnection.connect(server.settings())
            _ = try await administrator.query("CREATE ROLE \(name) LOGIN PASSWORD 'p' \(attributes)")
            _ = try await administrator.query("CREATE DATABASE \(name)")
            return server.settings(user: name, password: "p", database: name)
        }

        @Test("No server, a wrong password, and a database that is not there are told with what to do")
        func connecting() async throws {
            let server = try PostgresServer.shared.get()
            var settings = server.settings()
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: try PostgresServer.freePort())]
            var found = try await error(settings)
            #expect(found.kind == .unreachable && found.setting == .url && found.description.contains("refused"))
            settings.hosts = [PostgresSettings.Host("no-such-host.invalid")]
            found = try await error(settings)
            #expect(found.kind == .unreachable && found.description.contains("no-such-host.invalid"))
            let silent = try ListeningSocket()
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: silent.port)]
            settings.timeLimits.response = .milliseconds(200)
            found = try await error(settings)
            #expect(found.kind == .unreachable && found.description.contains("did not respond in time"))
            found = try await error(server.settings(password: "battery staple"))
            #expect(found.kind == .refused && found.setting == .password)
            #expect(
                found.description.contains("ALTER ROLE gatehouse PASSWORD") && !found.description.contains("battery"))
            found = try await error(server.settings(database: "none"))
            #expect(found.kind == .noDatabase && found.description.contains("CREATE DATABASE none OWNER gatehouse"))
        }

        @Test("A role that may not connect, not make tables, or not use them is told which right it lacks")
        func rights() async throws {
            let server = try PostgresServer.shared.get()
            let administrator = try await PostgresConnection.connect(server.settings())
            let settings = try await role(server)
            _ = try await administrator.query("REVOKE CONNECT ON DATABASE \(settings.database) FROM public")
            var found = try await error(settings)
            #expect(found.kind == .missingRight && found.description.contains("GRANT CONNECT"), "\(found)")
            _ = try await administrator.query("GRANT CONNECT ON DATABASE \(settings.database) TO public")
            found = try await error(settings)
            #expect(found.kind == .missingRight && found.description.contains("GRANT CREATE"), "\(found)")
            let owner = server.settings(database: settings.database)
            _ = try await PostgresState.open(owner)
            found = try await error(settings)
            #expect(found.kind == .missingRight && found.description.contains("GRANT SELECT"), "\(found)")
            let other = try await PostgresConnection.connect(owner)
            let rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"
            _ = try await other.query("GRANT \(rights) TO \(settings.user)")
            _ = try await other.query("REVOKE DELETE ON spent FROM \(settings.user)")
            found = try await error(settings)
            #expect(found.kind == .missingRight && found.description.contains("read or write spent"), "\(found)")
            _ = try await other.query("GRANT DELETE ON spent TO \(settings.user)")
            let state = try await PostgresState.open(settings)
            #expect(try await state.records.users.spend([1], until: 9, now: 1), "it need not own them")
        }

        @Test("Servers that take no writes are told as such")
        func readOnly() async throws {
            let server = try PostgresServer.shared.get()
            let settings = try await role(server)
            let administrator = try await PostgresConnection.connect(server.settings())
            _ = try await administrator.query("ALTER ROLE \(settings.user) SET default_transaction_read_only = on")
            let found = try await error(settings)
            #expect(found.kind == .readOnly && found.description.contains("primary"), "\(found)")
        }

        @Test("A certificate that cannot be verified is told with the file that it is verified by")
        func certificate() async throws {
            var settings = try PostgresServer.shared.get().settings()
            settings.verifiesLocalServers = true
            var found = try await error(settings)
            #expect(found.kind == .tls && found.setting == .trustedCertificates)
            #expect(found.description.contains(settings.trustedCertificates))
            // A host that is away may be the one that can be verified.
            let away = PostgresSettings.Host("127.0.0.1", port: try PostgresServer.freePort())
            settings.hosts.insert(away, at: 0)
            found = try await error(settings)
            #expect(found.kind == .unreachable && found.description.contains("refused"), "\(found)")
        }

        @Test("A schema that has no place for this version is told with the steps that it has")
        func newerSchema() async throws {
            let server = try PostgresServer.shared.get()
            let name = "newer_" + String(UInt64.random(in: .min ... .max), radix: 36)
            _ = try await PostgresConnection.connect(server.settings()).query("CREATE DATABASE \(name)")
            let settings = server.settings(database: name)
            let store = PostgresStore(PostgresPool(settings, size: 1))
            try await store.migrate(
                PostgresStore.migrations + [
                    PostgresStore.Migration(name: "newer-7", statements: [], keepsOlderWorking: false)
                ])
            let found = try await error(settings)
            #expect(found.kind == .newerSchema && found.description.contains("newer-7"))
        }

        @Test("A database that lacks characters is told with one that has all", arguments: ["LATIN1", "SQL_ASCII"])
        func encoding(name: String) async throws {
            let server = try PostgresServer.shared.get()
            let database = "in_" + name.lowercased()
            _ = try await PostgresConnection.connect(server.settings()).query(
                "CREATE DATABASE \(database) ENCODING '\(name)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
            let settings = server.settings(database: database)
            guard name == "LATIN1" else {
                return _ = try await PostgresInspection.look(settings, now: { 0 })
            }
            let found = try await error(settings)
            #expect(found.kind == .encoding && found.description.contains("ENCODING 'UTF8'"), "\(found)")
        }

        @Test("A server that is too old is told with the version that is needed")
        func tooOld() {
            let error = PostgresStartError.serverTooOld(13_00_21)
            #expect(error.description == "PostgreSQL 13 is too old; use version 14 or later")
        }

        @Test("Without libpq a start says what to install")
        func noLibrary() throws {
            guard case .failure(let cause) = PostgresLibrary.load("libpq-none.so.5") else {
                return #expect(Bool(false))
            }
            let settings = try PostgresServer.shared.get().settings()
            let error = PostgresStartError(cause, settings)
            #expect(error.kind == .libraryMissing && error.description.contains("libpq5"))
        }

        @Test("A look at a good database changes nothing, and has version, schema, and the difference of the clocks")
        func look() async throws {
            let server = try PostgresServer.shared.get()
            let name = "look_" + String(UInt64.random(in: .min ... .max), radix: 36)
            _ = try await PostgresConnection.connect(server.settings()).query("CREATE DATABASE \(name)")
            let settings = server.settings(database: name)
            let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) + 600_000 }
            var found = try await PostgresInspection.look(settings, now: now)
            #expect(found.schema == .older(missing: PostgresStore.migrations.map(\.name)))
            #expect(found.serverVersion >= PostgresInspection.oldestServer)
            #expect(abs(found.clockDifference - 600_000) < 30_000)
            let store = try await PostgresState.open(settings).store
            found = try await PostgresInspection.look(settings, now: now)
            #expect(found.schema == .current)
            #expect(try await store.rows("SELECT 1 FROM write_trials").count == 1)
        }
    }
}
