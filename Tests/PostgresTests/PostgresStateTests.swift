import Foundation
import Store
import Testing

@testable import Postgres
@testable import PostgresStore

extension PostgresTests {
    @Suite("The state in PostgreSQL")
    struct State {
        /// Settings of a database of a test's own, which is empty.
        private func settings(_ server: PostgresServer) async throws -> PostgresSettings {
            let name = "state_" + String(UInt64.random(in: .min ... .max), radix: 36)
            _ = try await PostgresConnection.connect(server.settings()).query("CREATE DATABASE \(name)")
            return server.settings(database: name)
        }

        @Test("It is opened with the current schema and all records, beside others, and ends in good order")
        func open() async throws {
            let settings = try await settings(PostgresServer.shared.get())
            let (first, second) = (try await PostgresState.open(settings), try await PostgresState.open(settings))
            #expect(first.schemaVersion == PostgresStore.migrations.count)
            #expect(second.schemaVersion == first.schemaVersion && first.writeError == nil)
            let records = first.records
            let user = SharedRecords.user("ada")
            let now = first.clock.sharedTime()
            var session = SharedRecords.session("s")
            session.endsAt = now + 600
            _ = try await records.users.signIn(UserSignIn(proof: nil, user: user, session: session))
            #expect(try await second.records.users.session("s")?.user == user)
            #expect(try await second.records.sessions.session([1]) == nil)
            #expect(try await second.records.limits.counts(now: now, limit: 9).isEmpty)
            #expect(try await second.records.outbox.count() == 0)
            #expect(try await second.records.revocations.all(now: now).isEmpty)
            #expect(try await second.records.codes.state(of: [1], poolID: "p", now: now) == .unknown)
            await first.tryWriting()
            #expect(try await first.store.rows("SELECT 1 FROM write_trials").count == 2)
            try await first.recordCleanShutdown(now: now)
            #expect(try await second.store.rows("SELECT 1 FROM write_trials").count == 1)
            #expect(try await second.store.rows("SELECT 1 FROM pruning_clock").count == 1)
            try await second.store.run("UPDATE write_trials SET tried_at = tried_at - 86401")
            let third = try await PostgresState.open(settings)
            try await third.recordCleanShutdown(now: now)
            #expect(try await second.store.rows("SELECT 1 FROM write_trials").isEmpty, "also of those that were killed")
        }

        @Test("A server that is gone is told by the next call, and one that is back by the next trial")
        func gone() async throws {
            let server = try PostgresServer()
            var settings = try await settings(server)
            settings.timeLimits.response = .seconds(6)
            let state = try await PostgresState.open(settings)
            let now = state.clock.sharedTime()
            try server.kill()
            await #expect(throws: PostgresError.self) { _ = try await state.records.users.isSpent([1]) }
            #expect(state.writeError?.hasPrefix("PostgreSQL") == true)
            #expect(state.writeError?.contains("127.0.0.1") == false)
            let began = ContinuousClock.now
            await state.tryWriting()
            #expect(ContinuousClock.now - began < .seconds(20))
            #expect(state.writeError != nil)
            #expect(state.clock.sharedTime() >= now, "it goes on")
            try server.start()
            while state.writeError != nil { await state.tryWriting() }
            #expect(try await state.records.users.spend([1], until: now + 9, now: now))
        }

        @Test("A server that has become read only is told with its SQLSTATE, and its connections are closed")
        func readOnly() async throws {
            let server = try PostgresServer()
            let settings = try await settings(server)
            let state = try await PostgresState.open(settings)
            let administrator = try await PostgresConnection.connect(server.settings())
            let alter = "ALTER DATABASE \(settings.database) SET default_transaction_read_only ="
            _ = try await administrator.query("\(alter) on")
            // As a former primary: the connections that there are refuse writes now.
            try await state.store.pool.withConnection { connection in
                _ = try await connection.query("SET default_transaction_read_only = on")
            }
            await #expect(throws: PostgresError.self) { _ = try await state.records.users.spend([1], until: 9, now: 1) }
            #expect(state.writeError?.contains("25006") == true, "\(state.writeError ?? "")")
            let open = try await state.store.pool.state().open
            #expect(open == 0)
            await state.tryWriting()
            #expect(state.writeError?.contains("takes no writes") == true, "\(state.writeError ?? "")")
            _ = try await administrator.query("\(alter) off")
            while state.writeError != nil { await state.tryWriting() }
            #expect(try await state.records.users.spend([1], until: 9, now: 1))
        }

        static let failures: [(sqlState: String, words: String?)] = [
            ("25006", "takes no writes"), ("53100", "disk is full"), ("53300", "cannot work now"),
            ("57P01", "cannot work now"), ("08006", "cannot work now"), ("58030", "cannot work now"),
            ("42501", "lacks a right"), ("XX001", "internal error"), ("23505", nil), ("40P01", nil), ("55P03", nil),
            ("22021", nil),
        ]

        @Test(
            "A statement's failure is told where it is the server's, and each failure of a trial", arguments: failures
        )
        func conditions(sqlState: String, words: String?) async throws {
            let store = PostgresStore(PostgresPool(try PostgresServer.shared.get().settings(), size: 1))
            let sql = "DO $$ BEGIN RAISE EXCEPTION 'secret' USING ERRCODE = '\(sqlState)'; END $$"
            let error = await PostgresTests.error { try await store.run(sql) }
            #expect(error?.sqlState == sqlState)
            #expect((store.condition.error == nil) == (words == nil))
            store.condition.trialFailed(try #require(error))
            let told = try #require(store.condition.error)
            #expect(told.contains(words ?? sqlState) && told.contains(sqlState) && !told.contains("secret"), "\(told)")
            store.condition.trialSucceeded()
            #expect(store.condition.error == nil)
        }

        @Test(
            "Behind a pooler that gives each statement another connection all is the same",
            .enabled(if: Pooler.program != nil))
        func pooler() async throws {
            let server = try PostgresServer.shared.get()
            let pooler = try Pooler(before: server)
            var settings = try await settings(server)
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: pooler.port)]
            settings.hasPooler = true
            let state = try await PostgresState.open(settings)
            let (users, now) = (state.records.users, state.clock.sharedTime())
            let proof = SharedRecords.proof("t", nonce: "n")
            var session = SharedRecords.session("s")
            session.endsAt = now + 600
            let signIn = UserSignIn(proof: proof, user: SharedRecords.user("ada"), session: session) {
                SharedRecords.token("token", of: $0)
            }
            let steps = try await withThrowingTaskGroup(of: UserSignInStep.self) { group in
                for _ in 0..<20 { group.addTask { try await users.signIn(signIn) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(steps.count { $0 == .signedIn(signIn.user, isNew: true) } == 1)
            #expect(steps.count { $0 == .replayed } == 19)
            var next = session
            next.rotation = 1
            #expect(try await users.advance(to: next) == .taken)
            #expect(try await users.claimAppleTokens(validatedBefore: now, pause: 0, now: now, limit: 9).count == 1)
            #expect(try await users.delete("id-ada", handingOver: SharedRecords.message) == signIn.user)
            #expect(try await state.records.outbox.count() == 1)
            await state.tryWriting()
            #expect(state.writeError == nil)
            try await state.recordCleanShutdown(now: now)
            try await state.close()
            _ = pooler
        }

        @Test("A trial that is cancelled says nothing")
        func cancelled() async throws {
            let state = try await PostgresState.open(settings(PostgresServer.shared.get()))
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await state.tryWriting()
            }
            await task.value
            #expect(state.writeError == nil)
        }
    }
}
