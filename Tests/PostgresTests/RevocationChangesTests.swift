import Postgres
import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Changes of revocations")
    struct RevocationChangesTests {
        private static func revocation(_ value: String, endsAt: Int64 = 100) -> RevocationRecord {
            RevocationRecord(issuer: "i", claim: "jti", value: value, endsAt: endsAt)
        }

        /// Begins a transaction that keeps a revocation, and commits it after `body`.
        private func keepLate(
            _ value: String, in store: PostgresStore, whileOpen body: () async throws -> Void
        ) async throws {
            try await store.pool.withConnection { connection in
                _ = try await connection.query("BEGIN")
                _ = try await connection.query(
                    """
                    INSERT INTO revocations (issuer, claim, value, is_sparing, spared, ends_at)
                    VALUES ('i', 'jti', $1, FALSE, '', 100)
                    """, [.text(value)])
                try await body()
                _ = try await connection.query("COMMIT")
            }
        }

        @Test("A follower reads each change once, also one that is committed late")
        func each() async throws {
            let database = try await RecordsDatabase()
            let changes = PostgresRevocations(database.store).changes
            let (other, third) = (PostgresRevocations(database.other()), database.other())
            try await other.keep([Self.revocation("before")])
            let whole = try await changes.read(since: nil, now: 0)
            #expect(whole.isWhole && whole.records == [Self.revocation("before")])
            var position = whole.position
            func new() async throws -> [String] {
                let reading = try await changes.read(since: position, now: 0)
                #expect(!reading.isWhole && reading.position.origin == position.origin)
                position = reading.position
                return reading.records.map(\.value)
            }
            #expect(try await new() == [])
            try await other.keep([Self.revocation("a"), Self.revocation("b")])
            try await keepLate("late", in: third) {
                try await other.keep([Self.revocation("c")])
                #expect(try await new() == ["a", "b", "c"])
                try await other.keep([Self.revocation("d")])
                #expect(try await new() == ["d"])
            }
            #expect(try await new() == ["late"])
            try await other.keep([Self.revocation("a", endsAt: 101)])
            #expect(try await new() == ["a"])
            #expect(try await new() == [])
        }

        @Test("Rows that a restore brought from a server with more transactions are read once")
        func restored() async throws {
            let store = try await RecordsDatabase().store
            let revocations = PostgresRevocations(store)
            for number in 0..<1100 { try await revocations.keep([Self.revocation("\(number)")]) }
            try await store.run("UPDATE revocations SET changed = '900000000000'")
            let whole = try await revocations.changes.read(since: nil, now: 0)
            #expect(whole.records.count == 1100)
            // The change of their transactions is one to those who have read before.
            let next = try await revocations.changes.read(since: whole.position, now: 0)
            #expect(next.records == [])
        }

        @Test("A follower of refreshes reads each once, also one that is committed late")
        func refreshes() async throws {
            let database = try await RecordsDatabase()
            let users = PostgresUsers(database.store, clock: LimitedClock())
            let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
            for id in ["early", "late"] {
                let session = UserSessionRecord(
                    id: id, userID: "ada", authTime: 1, createdAt: 1, refreshedAt: 1, expiresAt: 100, endsAt: 100)
                _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
            }
            var position: ChangePosition?
            func new() async throws -> [String] {
                let reading = try await users.superseded(since: position, now: 0, limit: 9)
                position = reading.position
                return reading.sessions.map(\.id)
            }
            #expect(try await new() == [])
            let update = """
                UPDATE user_sessions SET rotation = 1, successor = 'x', changed = pg_current_xact_id() WHERE id = $1
                """
            try await database.other().pool.withConnection { connection in
                _ = try await connection.query("BEGIN")
                _ = try await connection.query(update, [.text("late")])
                try await database.store.run(update, [.text("early")])
                #expect(try await new() == ["early"])
                #expect(try await new() == [])
                _ = try await connection.query("COMMIT")
            }
            #expect(try await new() == ["late"])
        }

        @Test("A reading of all has replaced tokens whose successors are stored no more")
        func clearedSuccessors() async throws {
            let users = PostgresUsers(try await RecordsDatabase().store, clock: LimitedClock())
            let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
            var session = UserSessionRecord(
                id: "s", userID: "ada", authTime: 1, createdAt: 1, refreshedAt: 1, expiresAt: 500, endsAt: 900)
            _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
            (session.rotation, session.refreshedAt, session.expiresAt, session.successor) = (1, 2, 600, [1])
            #expect(try await users.advance(to: session) == .taken)
            try await users.removeEnded(now: 122)
            #expect(try await users.session("s")?.session.successor == nil)
            let reading = try await users.superseded(since: nil, now: 122, limit: 9)
            #expect(
                reading.sessions == [SupersededSession(id: "s", rotation: 1, refreshedAt: 2, expiresAt: 500)])
        }

        @Test("What is revoked already is no change, and sends no message")
        func unchanged() async throws {
            let database = try await RecordsDatabase()
            let records = PostgresRevocations(database.store)
            let listening = try await PostgresConnection.connect(database.settings)
            try await listening.listen(PostgresRevocations.channel)
            let kept = [
                Self.revocation("a"),
                RevocationRecord(issuer: "i", claim: "sub", value: "ada", before: 5, endsAt: 100),
                RevocationRecord(issuer: "i", claim: "sub", value: "eve", before: nil, endsAt: 100),
            ]
            try await records.keep(kept)
            let position = try await records.changes.read(since: nil, now: 0).position
            var earlier = kept[1]
            (earlier.before, earlier.endsAt) = (4, 90)
            var narrower = kept[2]
            narrower.before = 9
            try await records.keep(kept)
            try await records.keep([earlier, narrower])
            #expect(try await records.changes.read(since: position, now: 0).records == [])
            try await records.keep([Self.revocation("b")])
            // Messages come in the order of their commits.
            _ = try await listening.query("SELECT pg_notify('\(PostgresRevocations.channel)', 'last')")
            var heard: [String] = []
            for await message in listening.notifications {
                heard.append(message.payload)
                if message.payload == "last" { break }
            }
            #expect(heard == ["", "", "last"])
        }

        @Test("More than a page is read in pages, as a whole and as a change")
        func pages() async throws {
            let records = PostgresRevocations(try await RecordsDatabase().store)
            let position = try await records.changes.read(since: nil, now: 0).position
            try await records.keep((0..<2500).map { Self.revocation("r\($0)") })
            for since in [nil, position] {
                let reading = try await records.changes.read(since: since, now: 0)
                #expect(Set(reading.records.map(\.value)).count == 2500 && reading.records.count == 2500)
            }
            try await records.keep((0..<1000).map { Self.revocation("s\($0)") })
            let whole = try await records.changes.read(since: nil, now: 0)
            #expect(whole.records.count == 3500)
            #expect(try await records.changes.read(since: whole.position, now: 0).records == [])
        }

        @Test("More replaced tokens than a page are read in pages, as a whole and as a change, up to the limit")
        func manyRefreshes() async throws {
            let store = try await RecordsDatabase().store
            let users = PostgresUsers(store, clock: LimitedClock())
            let user = UserRecord(id: "ada", issuer: "i", subject: "s", createdAt: 1)
            let session = UserSessionRecord(
                id: "first", userID: "ada", authTime: 1, createdAt: 1, refreshedAt: 1, expiresAt: 100, endsAt: 100)
            _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
            let position = try await users.superseded(since: nil, now: 0, limit: 9).position
            // Many have the same times.
            try await store.run(
                """
                INSERT INTO user_sessions (id, user_id, rotation, successor, retry_until, auth_time, created_at,
                    refreshed_at, expires_at, previous_expires_at, ends_at)
                SELECT 's' || n, 'ada', 1, 'x', 0, 1, 1, n / 700, 100, 50 + n / 700, 100
                FROM generate_series(1, 2500) AS n
                """)
            for since in [nil, position] {
                let reading = try await users.superseded(since: since, now: 0, limit: 9000)
                #expect(Set(reading.sessions.map(\.id)).count == 2500 && reading.sessions.count == 2500)
                let times = reading.sessions.map(\.refreshedAt)
                #expect(times == times.sorted())
                #expect(try await users.superseded(since: reading.position, now: 0, limit: 9000).sessions.isEmpty)
                #expect(try await users.superseded(since: since, now: 0, limit: 1500).sessions.count == 1500)
            }
        }

        @Test("After a restart of the server the whole list is read")
        func restart() async throws {
            let server = try PostgresServer()
            let store = PostgresStore(PostgresPool(server.settings(), size: 2))
            try await store.migrate()
            let records = PostgresRevocations(store)
            try await records.keep([Self.revocation("a")])
            let position = try await records.changes.read(since: nil, now: 0).position
            try server.kill()
            try server.start()
            var reading: RevocationReading?
            while reading == nil { reading = try? await records.changes.read(since: position, now: 0) }
            #expect(reading?.isWhole == true && reading?.records.map(\.value) == ["a"])
            #expect(reading?.position.origin != position.origin)
        }

        @Test("A server that takes no writes is not read: others write elsewhere")
        func readOnly() async throws {
            let database = try await RecordsDatabase()
            let records = PostgresRevocations(database.store)
            let position = try await records.changes.read(since: nil, now: 0).position
            try await database.store.pool.withConnection { connection in
                _ = try await connection.query("SET default_transaction_read_only = on")
            }
            await #expect(throws: (any Error).self) { _ = try await records.changes.read(since: position, now: 0) }
        }
    }
}
