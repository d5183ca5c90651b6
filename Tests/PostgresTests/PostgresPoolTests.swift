import Foundation
import Testing

@testable import Postgres

extension PostgresTests {
    @Suite("Pool")
    struct Pool {
        /// A pool of the shared server.
        private func pool(
            size: Int = 8, mostWaiting: Int = 512, _ change: (inout PostgresTimeLimits) -> Void = { _ in }
        ) throws -> PostgresPool {
            var settings = try PostgresServer.shared.get().settings()
            change(&settings.timeLimits)
            return PostgresPool(settings, size: size, mostWaiting: mostWaiting)
        }

        /// Returns when `condition` holds of the pool.
        private func wait(
            _ pool: PostgresPool, until condition: (PostgresPoolState) -> Bool
        ) async throws -> PostgresPoolState {
            while true {
                let state = try await pool.state()
                if condition(state) { return state }
                await Task.yield()
            }
        }

        /// Holds an advisory lock, by which tests have statements wait.
        private func hold(_ key: Int) async throws -> PostgresConnection {
            let holder = try await PostgresConnection.connect(PostgresServer.shared.get().settings())
            _ = try await holder.query("SELECT pg_advisory_lock(\(key))")
            return holder
        }

        /// Returns when as many statements wait for the advisory lock.
        private func wait(for count: Int64, at key: Int, _ holder: PostgresConnection) async throws {
            let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = \(key) AND NOT granted"
            while try await PostgresTests.value(holder, sql) != .integer(count) { await Task.yield() }
        }

        @Test("Many callers share eight connections, and each has its own result")
        func bound() async throws {
            let pool = try pool()
            let results = try await withThrowingTaskGroup(of: [PostgresValue].self) { group in
                for number in 0..<400 {
                    group.addTask {
                        try await pool.query("SELECT $1::int8, pg_backend_pid()", [.integer(Int64(number))]).first ?? []
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(results.map { "\($0[0])" }).count == 400)
            #expect((1...8).contains(Set(results.map { "\($0[1])" }).count))
            let state = try await pool.state()
            #expect(state.open <= 8 && state.made == state.open && state.idle == state.open)
        }

        @Test("Callers wait in their order, a bounded number of them, until their deadline or their task's end")
        func waiters() async throws {
            let pool = try pool(size: 1, mostWaiting: 2)
            let holder = try await hold(101)
            async let first = pool.query("SELECT pg_advisory_lock_shared(101)")
            try await wait(for: 1, at: 101, holder)
            let second = Task { try await pool.query("SELECT 2") }
            _ = try await wait(pool) { $0.waiting == 1 }
            let third = Task { await PostgresTests.error { _ = try await pool.query("SELECT 3") } }
            _ = try await wait(pool) { $0.waiting == 2 }
            let fourth = await PostgresTests.error { _ = try await pool.query("SELECT 4") }
            #expect(fourth?.kind == .tooManyWaiting)
            third.cancel()
            #expect(await third.value == .cancelled)
            #expect(try await wait(pool) { $0.waiting == 1 }.open == 1)
            let late = await PostgresTests.error {
                _ = try await pool.query("SELECT 5", deadline: .now + .milliseconds(50))
            }
            #expect(late?.kind == .deadline)
            _ = try await holder.query("SELECT pg_advisory_unlock(101)")
            #expect(try await first.count == 1)
            #expect(try await second.value.first == [.integer(2)])
        }

        @Test("A caller whose task is cancelled goes on at once; the connection is used again after the response")
        func cancellation() async throws {
            let pool = try pool(size: 1)
            let pid = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            let holder = try await hold(102)
            let task = Task {
                await PostgresTests.error { _ = try await pool.query("SELECT pg_advisory_lock_shared(102)") }
            }
            try await wait(for: 1, at: 102, holder)
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(try await pool.state().idle == 0)
            _ = try await holder.query("SELECT pg_advisory_unlock(102)")
            #expect(try await PostgresTests.value(pool, "SELECT pg_backend_pid()") == pid)
        }

        @Test("A connection whose response is late is closed, and never used again")
        func late() async throws {
            let pool = try pool(size: 1)
            let pid = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            let holder = try await hold(103)
            let error = await PostgresTests.error {
                _ = try await pool.query("SELECT pg_advisory_lock_shared(103)", deadline: .now + .milliseconds(100))
            }
            #expect(error == .deadline)
            #expect(try await pool.state().open == 0)
            let next = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            #expect(next != nil && next != pid)
            _ = try await holder.query("SELECT pg_advisory_unlock(103)")
        }

        @Test("The server's own limits end a statement, not its connection")
        func timeLimits() async throws {
            let pool = try pool(size: 1) { $0.statement = .seconds(1) }
            let pid = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            let slow = await PostgresTests.error { _ = try await pool.query("SELECT pg_sleep(30)") }
            #expect(slow?.sqlState == "57014" && slow?.condition == .timeLimit)
            #expect(try await PostgresTests.value(pool, "SELECT pg_backend_pid()") == pid)
            let holder = try await hold(104)
            let impatient = try self.pool(size: 1) { $0.lock = .milliseconds(100) }
            let locked = await PostgresTests.error { _ = try await impatient.query("SELECT pg_advisory_lock(104)") }
            #expect(locked?.sqlState == "55P03" && locked?.condition == .timeLimit)
            _ = try await holder.query("SELECT pg_advisory_unlock(104)")
        }

        @Test("A connection to a server that has come to take no writes is closed")
        func readOnly() async throws {
            let pool = try pool(size: 1)
            let pid = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            _ = try await pool.query("SET default_transaction_read_only = on")
            let error = await PostgresTests.error { _ = try await pool.query("CREATE TABLE never (id int8)") }
            #expect(error?.condition == .readOnly)
            let next = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            #expect(next != nil && next != pid)
        }

        @Test("A transaction has one connection; one that is left open is not seen by the next caller")
        func lending() async throws {
            let pool = try pool(size: 1)
            let pid = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            let inside = try await pool.withConnection { connection in
                _ = try await connection.query("BEGIN")
                let pid = try await PostgresTests.value(connection, "SELECT pg_backend_pid()")
                _ = try await connection.query("COMMIT")
                return pid
            }
            #expect(inside == pid)
            #expect(try await PostgresTests.value(pool, "SELECT pg_backend_pid()") == pid)
            try await pool.withConnection { _ = try await $0.query("BEGIN") }
            let next = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            #expect(next != nil && next != pid)
            try await pool.close()
            #expect(await PostgresTests.error { _ = try await pool.query("SELECT 1") } == .closed)
        }

        @Test("A server that is killed ends what is under way; when it is back, the pool is as well")
        func crash() async throws {
            let server = try PostgresServer()
            let settings = server.settings()
            let pool = PostgresPool(settings, size: 2)
            _ = try await pool.query("CREATE TABLE t (id int8)")
            let watcher = try await PostgresConnection.connect(settings)
            let running = Task { await PostgresTests.error { _ = try await pool.query("SELECT pg_sleep(50)") } }
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            while try await PostgresTests.value(watcher, sql) != .integer(1) { await Task.yield() }
            try server.kill()
            let error = await running.value
            #expect(error?.kind == .connection, "\(String(describing: error))")
            // While it is away, a caller hears why at the deadline.
            let away = await PostgresTests.error {
                _ = try await pool.query("SELECT 1", deadline: .now + .seconds(5))
            }
            #expect(away?.kind == .connection, "\(String(describing: away))")
            try server.start()
            #expect(try await pool.query("INSERT INTO t (id) VALUES (1)").count == 1)
            #expect(try await pool.state().failed > 0)
        }

        @Test("While a server is away callers wait briefly, and for as long as ever when it is back")
        func away() async throws {
            let server = try PostgresServer()
            var settings = server.settings()
            settings.timeLimits.whileAway = .milliseconds(50)
            settings.timeLimits.response = .seconds(6)
            let pool = PostgresPool(settings, size: 2)
            // A busy machine may take longer for the first connection than for the rest.
            _ = try await pool.query("SELECT 1", deadline: .now + .seconds(40))
            try server.kill()
            let began = ContinuousClock.now
            for _ in 0..<5 {
                let error = await PostgresTests.error { _ = try await pool.query("SELECT 1") }
                // A server that ends may still say so to a connection that is idle (57P01). On a busy machine the wait is
                // over before the connection is refused.
                let isGone = [.connection, .deadline].contains(error?.kind) || error?.condition == .unavailable
                #expect(isGone, "\(String(describing: error))")
            }
            // The first one waits for as long as it may: until then nobody knows that the server is away.
            #expect(.now - began < .seconds(20), "each would wait for six seconds")
            try server.start()
            var error: PostgresError? = nil
            repeat { error = await PostgresTests.error { _ = try await pool.query("SELECT 1") } } while error != nil
            let holders = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 { group.addTask { _ = try await pool.query("SELECT pg_sleep(0.1)") } }
                    try await group.waitForAll()
                }
            }
            try await holders.value
        }

        @Test("A server that is shut down says so to what is under way")
        func shutdown() async throws {
            let pool = try pool(size: 1)
            let pid = try #require(try await PostgresTests.value(pool, "SELECT pg_backend_pid()::int8"))
            let holder = try await hold(105)
            let running = Task {
                await PostgresTests.error { _ = try await pool.query("SELECT pg_advisory_lock(105)") }
            }
            try await wait(for: 1, at: 105, holder)
            _ = try await holder.query("SELECT pg_terminate_backend($1::int4)", [pid])
            let error = await running.value
            #expect(error?.sqlState == "57P01" && error?.condition == .unavailable)
            let next = try await PostgresTests.value(pool, "SELECT pg_backend_pid()")
            #expect(next != nil && next != pid)
        }

        @Test("Passwords that are wrong fail all who wait, at once")
        func wrongPassword() async throws {
            let settings = try PostgresServer.shared.get().settings(password: "battery staple")
            let pool = PostgresPool(settings, size: 2)
            let error = await PostgresTests.error {
                _ = try await pool.query("SELECT 1", deadline: .now + .seconds(60))
            }
            #expect(error?.kind == .refused && error?.sqlState == "28P01")
            // Between two tries as well, when no server is asked.
            let next = await PostgresTests.error {
                _ = try await pool.query("SELECT 1", deadline: .now + .milliseconds(1))
            }
            #expect(next?.kind == .refused && next?.sqlState == "28P01", "\(String(describing: next))")
        }
    }

    @Suite("Notifications")
    struct Notifications {
        @Test("A listener hears all messages of its channel, and the end of its connection")
        func notifications() async throws {
            let server = try PostgresServer.shared.get()
            let listener = try await PostgresConnection.connect(server.settings())
            try await listener.listen("a \"channel\"")
            let pool = PostgresPool(server.settings())
            let notify = "SELECT pg_notify($1, $2)"
            for number in 0..<100 {
                _ = try await pool.query(notify, [.text("another"), .text("x")])
                _ = try await pool.query(notify, [.text("a \"channel\""), .text("message \(number)")])
            }
            var heard: [String] = []
            for await message in listener.notifications {
                #expect(message.channel == "a \"channel\"")
                heard.append(message.payload)
                if heard.count == 100 { listener.close() }
            }
            #expect(heard == (0..<100).map { "message \($0)" })
        }

        @Test("A listener whose connection the server ends hears that")
        func ended() async throws {
            let server = try PostgresServer.shared.get()
            let listener = try await PostgresConnection.connect(server.settings())
            try await listener.listen("c")
            let pid = try #require(try await PostgresTests.value(listener, "SELECT pg_backend_pid()::int8"))
            let other = try await PostgresConnection.connect(server.settings())
            _ = try await other.query("SELECT pg_terminate_backend($1::int4)", [pid])
            for await _ in listener.notifications { Issue.record("nothing was said") }
            #expect(await PostgresTests.error { _ = try await listener.query("SELECT 1") } == .closed)
        }
    }
}
