import Cryptography
import Foundation
import Testing

@testable import Postgres

/// All that want a server. They are skipped where PostgreSQL is not installed; deploy/test.sh installs it.
@Suite("PostgreSQL", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresTests {
    /// Calls `body`, which must fail.
    static func error(of body: () async throws -> Void) async -> PostgresError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? PostgresError
        }
    }

    /// The first value of the first row.
    static func value(_ connection: PostgresConnection, _ sql: String) async throws -> PostgresValue? {
        try await connection.query(sql).first?.first
    }

    static func value(_ pool: PostgresPool, _ sql: String) async throws -> PostgresValue? {
        try await pool.query(sql).first?.first
    }
}

extension PostgresTests {
    @Suite("Values and errors")
    struct Values {
        static let values: [(String, PostgresValue)] = [
            ("int8", .integer(0)), ("int8", .integer(-1)), ("int8", .integer(.max)), ("int8", .integer(.min)),
            ("int8", .null), ("text", .text("")), ("text", .text("ä \u{1F600} \\x'\"$1")), ("text", .null),
            ("bytea", .bytes([])), ("bytea", .bytes([0, 1, 255, 0])), ("bytea", .null), ("boolean", .boolean(true)),
            ("boolean", .boolean(false)), ("boolean", .null),
        ]

        @Test("A value comes back as it was sent", arguments: values)
        func roundTrip(type: String, value: PostgresValue) async throws {
            let connection = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            let rows = try await connection.query("SELECT $1::\(type) AS a, 7 AS b", [value])
            #expect(rows == PostgresRows(columns: ["a", "b"], rows: [[value, .integer(7)]], count: 1))
        }

        @Test("Rows are stored, changed and counted; a type that is not supported is an error of that statement alone")
        func rows() async throws {
            let connection = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            _ = try await connection.query("CREATE TEMPORARY TABLE t (id int8 PRIMARY KEY, data bytea, small int2)")
            let insert = "INSERT INTO t (id, data, small) VALUES ($1, $2, -3), ($3, $4, NULL)"
            let inserted = try await connection.query(insert, [.integer(1), .bytes([9]), .integer(2), .null])
            #expect(inserted == PostgresRows(columns: [], rows: [], count: 2))
            let found = try await connection.query("SELECT id, data, small FROM t ORDER BY id")
            #expect(found.rows == [[.integer(1), .bytes([9]), .integer(-3)], [.integer(2), .null, .null]])
            let error = await PostgresTests.error { _ = try await connection.query("SELECT 1.5 AS price") }
            #expect(error?.kind == .type && error?.message.contains("price") == true)
            #expect(try await connection.query("DELETE FROM t WHERE id > $1 RETURNING id", [.integer(1)]).count == 1)
            #expect(try await connection.query("").rows.isEmpty)
        }

        static let states: [(String, PostgresError.Condition)] = [
            ("25006", .readOnly), ("40001", .conflict), ("40P01", .conflict), ("53300", .unavailable),
            ("57P03", .unavailable), ("58030", .unavailable), ("08006", .unavailable), ("57014", .timeLimit),
            ("55P03", .timeLimit), ("23505", .uniqueViolation), ("42501", .missingRight), ("22012", .other),
        ]

        @Test("An error has its SQLSTATE, and what a caller does about it", arguments: states)
        func conditions(state: String, condition: PostgresError.Condition) async throws {
            let connection = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            let sql = "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '\(state)'; END $$"
            let error = await PostgresTests.error { _ = try await connection.query(sql) }
            #expect(error?.kind == .statement && error?.sqlState == state && error?.condition == condition)
            #expect(error?.description == "no (SQLSTATE \(state))")
        }

        @Test("A row that is there already is named by its constraint, without its values")
        func constraint() async throws {
            let connection = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            _ = try await connection.query("CREATE TEMPORARY TABLE names (name text CONSTRAINT once UNIQUE)")
            let insert = "INSERT INTO names (name) VALUES ($1)"
            _ = try await connection.query(insert, [.text("ada")])
            let error = await PostgresTests.error { _ = try await connection.query(insert, [.text("ada")]) }
            #expect(error?.condition == .uniqueViolation && error?.constraint == "once")
            #expect(error?.description.contains("ada") == false)
        }

        @Test("A response of many rows counts once towards the bound", arguments: [(60, 150_000), (1000, 15_000)])
        func manyRows(length: Int, count: Int) async throws {
            let connection = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            let sql = "SELECT repeat('x', \(length)) FROM generate_series(1, \(count))"
            #expect(try await connection.query(sql).count == count)
        }

        @Test("A response beyond the bound ends its connection")
        func tooLarge() async throws {
            var settings = try PostgresServer.shared.get().settings()
            settings.timeLimits.responseSize = 1 << 20
            let connection = try await PostgresConnection.connect(settings)
            #expect(try await connection.query("SELECT repeat('x', 900000)").count == 1)
            let error = await PostgresTests.error {
                _ = try await connection.query("SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
            }
            #expect(error?.kind == .tooLarge)
            #expect(await PostgresTests.error { _ = try await connection.query("SELECT 1") } == .closed)
        }
    }

    @Suite("Connecting")
    struct Connecting {
        @Test("A wrong password, and a database that is not there, are refused at once, and no text has the password")
        func refused() async throws {
            let server = try PostgresServer.shared.get()
            for (settings, state) in [
                (server.settings(password: "battery staple"), "28P01"), (server.settings(password: nil), nil),
                (server.settings(user: "nobody-else"), "28P01"), (server.settings(database: "none"), "3D000"),
            ] {
                let error = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
                #expect(error?.sqlState == state)
                #expect(error?.kind == (state == nil ? .connection : .refused), "\(String(describing: error))")
                #expect(error?.description.contains("battery") == false)
                #expect(!"\(settings)".contains("battery") && !String(reflecting: settings).contains("battery"))
            }
        }

        @Test("A port where nobody listens fails at once, and a server that says nothing at the deadline")
        func unreachable() async throws {
            var settings = try PostgresServer.shared.get().settings()
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: try PostgresServer.freePort())]
            let nobody = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
            #expect(nobody?.kind == .connection && nobody?.sqlState == nil)
            let silent = try ListeningSocket()
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: silent.port)]
            settings.timeLimits.response = .milliseconds(200)
            let late = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
            #expect(late?.kind == .deadline)
            settings.hosts = [PostgresSettings.Host("no-such-host.invalid")]
            #expect(await PostgresTests.error { _ = try await PostgresConnection.connect(settings) } != nil)
        }

        @Test(
            "Of TLS, only what somebody must correct is an error of the certificate",
            arguments: [
                ("SSL error: certificate verify failed", .tls),
                (#"server certificate for "db" does not match host name "localhost""#, .tls),
                (#"root certificate file "/none.pem" does not exist"#, .tls),
                ("server does not support SSL, but SSL was required", .tls),
                ("could not send SSL negotiation packet: Broken pipe", .connection),
                ("server sent an error response during SSL exchange", .connection),
                ("SSL SYSCALL error: EOF detected", .connection),
                ("SSL SYSCALL error: Connection reset by peer", .connection),
                ("SSL error: unexpected eof while reading", .connection),
                ("SSL connection has been closed unexpectedly", .connection),
            ] as [(String, PostgresError.Kind)])
        func tls(text: String, kind: PostgresError.Kind) {
            let line = #"connection to server at "certificate", port 5432 failed: \#(text)"#
            #expect(PostgresError(ofConnecting: line + "\n").kind == kind)
        }

        @Test("Of several hosts the first that takes writes is used, each with its share of the time")
        func hosts() async throws {
            let server = try PostgresServer.shared.get()
            let silent = try ListeningSocket()
            var settings = server.settings()
            settings.hosts =
                [
                    PostgresSettings.Host("127.0.0.1", port: try PostgresServer.freePort()),
                    PostgresSettings.Host("localhost", port: silent.port), PostgresSettings.Host(server.directory),
                ] + settings.hosts
            let connection = try await PostgresConnection.connect(settings, deadline: .now + .seconds(18))
            #expect(try await PostgresTests.value(connection, "SELECT 1") == .integer(1))
        }

        @Test("A server that takes no writes is not used")
        func readOnly() async throws {
            let server = try PostgresServer.shared.get()
            let administrator = try await PostgresConnection.connect(server.settings())
            _ = try await administrator.query("CREATE ROLE reader LOGIN PASSWORD 'r'")
            _ = try await administrator.query("ALTER ROLE reader SET default_transaction_read_only = on")
            let settings = server.settings(user: "reader", password: "r")
            let error = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
            #expect(error?.kind == .connection && error?.message.contains("read-only") == true)
            #expect(error?.label == "read-only")
            // Beside a server that is gone, it is the one to promote.
            var both = settings
            both.hosts.append(PostgresSettings.Host("127.0.0.1", port: try PostgresServer.freePort()))
            let ofBoth = await PostgresTests.error { _ = try await PostgresConnection.connect(both) }
            #expect(ofBoth?.label == "read-only", "\(String(describing: ofBoth))")
        }

        @Test("Statements are read by PostgreSQL's own settings, whichever a role has")
        func ownSettings() async throws {
            let server = try PostgresServer.shared.get()
            let administrator = try await PostgresConnection.connect(server.settings())
            _ = try await administrator.query("CREATE ROLE odd LOGIN PASSWORD 'o'")
            for (name, odd, usual) in [
                ("bytea_output", "escape", "hex"), ("array_nulls", "off", "on"),
                ("default_transaction_isolation", "serializable", "read committed"),
                ("standard_conforming_strings", "off", "on"),
            ] {
                _ = try await administrator.query("ALTER ROLE odd SET \(name) = '\(odd)'")
                let settings = server.settings(user: "odd", password: "o")
                let connection = try await PostgresConnection.connect(settings)
                #expect(try await PostgresTests.value(connection, "SHOW \(name)") == .text(usual))
            }
        }

        @Test("The unix socket of a server is its directory")
        func unixSocket() async throws {
            let server = try PostgresServer.shared.get()
            var settings = server.settings()
            settings.hosts = [PostgresSettings.Host(server.directory, port: server.port)]
            let connection = try await PostgresConnection.connect(settings)
            #expect(try await PostgresTests.value(connection, "SELECT inet_client_addr() IS NULL") == .boolean(true))
        }

        @Test("Servers on other machines are verified, and the time limits are set where no pooler is in between")
        func parameters() throws {
            var settings = PostgresSettings(
                hosts: [], database: "d", user: "u", password: Secret("p"), trustedCertificates: "/ca.pem")
            func parameter(_ name: String, of host: String) -> String? {
                settings.parameters(PostgresSettings.Host(host), address: nil).first { $0.name == name }?.value
            }
            for host in ["db.example.com", "10.0.0.1", "127.example.com", "localhost.example.com"] {
                #expect(parameter("sslmode", of: host) == "verify-full", "\(host)")
            }
            for host in ["127.0.0.1", "::1", "localhost"] { #expect(parameter("sslmode", of: host) == "allow") }
            #expect(parameter("sslmode", of: "/run/postgresql") == "disable")
            #expect(parameter("options", of: "a")?.contains("-c statement_timeout=2000 -c lock_timeout=1000") == true)
            settings.hasPooler = true
            #expect(parameter("options", of: "a") == nil)
        }
    }

    @Suite("TLS")
    struct TLS {
        /// A server with a certificate for `name`, and the certificate.
        private func server(_ name: String) throws -> (PostgresServer, certificate: String) {
            let server = try PostgresServer()
            let (key, certificate) = (server.directory + "/server.key", server.directory + "/server.crt")
            try PostgresServer.run([
                "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", key, "-out",
                certificate,
            ])
            if getuid() == 0 { try PostgresServer.run(["/bin/chown", "nobody:nogroup", key, certificate]) }
            return (server, certificate)
        }

        @Test("A certificate that is trusted and is the server's is taken, any other and none are refused")
        func verification() async throws {
            let (server, certificate) = try server("IP:127.0.0.1")
            var settings = server.settings()
            (settings.verifiesLocalServers, settings.trustedCertificates) = (true, certificate)
            let none = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
            #expect(none?.kind == .tls, "\(String(describing: none))")
            let administrator = try await PostgresConnection.connect(server.settings())
            _ = try await administrator.query("ALTER SYSTEM SET ssl = on")
            _ = try await administrator.query("SELECT pg_reload_conf()")
            // The server's processes learn of it a moment later.
            var connection: PostgresConnection?
            while connection == nil { connection = try? await PostgresConnection.connect(settings) }
            let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            #expect(try await connection?.query(sql).first == [.boolean(true)])
            for (hosts, trusted) in [("127.0.0.1", "/etc/ssl/certs/ca-certificates.crt"), ("localhost", certificate)] {
                settings.hosts = [PostgresSettings.Host(hosts, port: server.port)]
                settings.trustedCertificates = trusted
                let error = await PostgresTests.error { _ = try await PostgresConnection.connect(settings) }
                #expect(error?.kind == .tls, "\(String(describing: error))")
            }
        }
    }
}

@Suite("PostgreSQL: parts")
struct PostgresPartsTests {
    @Test("Where libpq is not installed, that and what to install is the error")
    func noLibrary() {
        guard case .failure(let error) = PostgresLibrary.load("libpq-none.so.5") else {
            return #expect(Bool(false))
        }
        #expect(error.kind == .libraryMissing && error.message.contains("libpq5"))
    }

    @Test("Deadlines come in their order, without those that were cancelled")
    func timers() {
        var timers = PostgresTimers()
        let start = ContinuousClock.now
        var seen: [Int] = []
        let numbers = (0..<200).map { $0 * 37 % 200 }
        let added = numbers.map { number in
            (number, timers.add(at: start + .milliseconds(number)) { seen.append(number) })
        }
        for (number, id) in added where number % 3 == 0 { timers.cancel(id) }
        #expect(timers.wait(now: start - .milliseconds(9)) == 11)
        while let work = timers.next(now: start + .milliseconds(150)) { work() }
        #expect(seen == (0...150).filter { $0 % 3 != 0 })
        while let work = timers.next(now: start + .seconds(9)) { work() }
        #expect(seen.count == 133 && timers.wait(now: start) == -1)
    }

    @Test("A wait that was cancelled before it began ends as cancelled")
    func cancelledBefore() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await PostgresTests.error { _ = try await PostgresWait<Int>.run { $0.end(.success(1)) } }
        }
        #expect(await task.value == .cancelled)
    }
}
