import Store
import Synchronization
import Testing

@testable import Postgres
@testable import PostgresStore

extension PostgresTests {
    @Suite("The database's clock")
    struct Clock {
        /// A monotonic clock in a test's hands.
        final class Uptime: Sendable {
            private let milliseconds = Mutex(Int64(5_000_000))
            var now: Int64 { milliseconds.withLock { $0 } }
            func pass(_ seconds: Int64) { milliseconds.withLock { $0 += seconds * 1000 } }
        }

        /// Of a gateway whose time of day is wrong, in seconds.
        static let errors: [Int64] = [-600, 600, -40 * 86_400, 40 * 86_400]

        private func databaseTime(_ store: PostgresStore) async throws -> Int64 {
            try await store.rows("SELECT \(PostgresClock.now) AS now").first?.integer("now") ?? 0
        }

        @Test(
            "It is the database's, however wrong the gateway's is, and goes on with the monotonic clock",
            arguments: errors)
        func wrongClock(error: Int64) async throws {
            let (store, uptime) = (try await RecordsDatabase().store, Uptime())
            let clock = try await PostgresClock.open(store) { uptime.now }
            let right = clock.sharedMilliseconds()
            #expect(abs(right - (try await databaseTime(store))) < 60_000)
            let wrong = right / 1000 + error
            for passed in [0, 7, 86_400] as [Int64] {
                uptime.pass(passed)
                let expected = (right + (uptime.now - 5_000_000)) / 1000
                #expect(clock.sharedTime(wrong) == expected)
                #expect(clock.pruningTime(wrong) == expected)
                #expect(clock.believedTime(wrong) == expected)
                #expect(clock.latestTime(wrong) == expected)
                // Tokens are revoked by the gateway's where that is a little later.
                for near in [-60, -5, 30, 60] as [Int64] {
                    #expect(clock.latestTime(expected + near) == expected + max(0, near))
                }
                #expect(clock.sharedMilliseconds(wrong * 1000) / 1000 == expected)
            }
        }

        @Test("It follows the database's, as far as the time that it took to ask leaves no doubt")
        func following() async throws {
            let (store, uptime) = (try await RecordsDatabase().store, Uptime())
            let clock = try await PostgresClock.open(store) { uptime.now }
            let start = clock.sharedMilliseconds()
            func follow(_ time: Int64, after seconds: Int64) -> Int64 {
                let sent = uptime.now
                uptime.pass(seconds)
                clock.follow(start + time, askedAt: sent)
                return clock.sharedMilliseconds() - start
            }
            #expect(follow(500, after: 1) == 1000, "it was 500 at some time within this second")
            #expect(follow(0, after: 1) == 1000, "it is 1000 at most")
            #expect(follow(2000, after: 1) == 2000)
            #expect(follow(9000, after: 0) == 9000)
            #expect(follow(4000, after: 0) == 4000, "also back")
        }

        @Test("What has ended goes by no step of the database's clock, as of another server, before it is old")
        func otherServer() async throws {
            let (store, uptime) = (try await RecordsDatabase().store, Uptime())
            let clock = try await PostgresClock.open(store) { uptime.now }
            let start = clock.sharedMilliseconds()
            let day: Int64 = 86_400_000
            #expect(clock.pruningTime(0) == start / 1000)
            clock.follow(start + 40 * day, askedAt: uptime.now)
            #expect(clock.sharedMilliseconds() == start + 40 * day)
            #expect(clock.pruningTime(0) == start / 1000)
            uptime.pass(600)
            #expect(clock.pruningTime(0) == start / 1000 + 1200)
            clock.follow(start - day, askedAt: uptime.now)
            #expect(clock.latestTime(0) >= start / 1000 + 600, "nothing that is revoked counts again")
        }

        @Test("How far it is, is kept for the next process, and the furthest of all stays")
        func kept() async throws {
            let (database, uptime) = (try await RecordsDatabase(), Uptime())
            let first = try await PostgresClock.open(database.store) { uptime.now }
            let second = try await PostgresClock.open(database.other())
            let start = first.pruningTime(0)
            uptime.pass(3600)
            try await first.keepPruningClock(now: 0)
            try await second.keepPruningClock(now: 0)
            let rows = try await database.store.rows("SELECT at FROM pruning_clock")
            #expect(try rows.map { try $0.integer("at") } == [start + 3600])
            #expect(abs(first.sharedTime() - (try await databaseTime(database.store) / 1000)) < 60)
        }

        /// Records of a gateway whose time of day is wrong, beside one whose is right, and the database's clock.
        private func gateways() async throws -> (right: GatewayRecords, wrong: GatewayRecords, clock: PostgresClock) {
            let database = try await RecordsDatabase()
            let clocks = [
                try await PostgresClock.open(database.store), try await PostgresClock.open(database.other()),
            ]
            return (
                GatewayRecords(database.store, clocks[0]), GatewayRecords(database.other(), clocks[1]), clocks[0]
            )
        }

        @Test(
            "A gateway whose clock is wrong ends nothing that has not ended, and nothing lives on for it",
            arguments: errors)
        func nothingEnds(error: Int64) async throws {
            let (right, wrong, clock) = try await gateways()
            let now = clock.sharedTime()
            for (id, endsAt) in [("open", now + 60), ("over", now - 60)] {
                let family = Array(id.utf8)
                let record = SessionRecord(
                    family: family, poolID: "p", subject: "ada", originID: nil, deviceID: nil, platform: nil,
                    generation: 0, token: [1], signedInAt: now, refreshedAt: now, endsAt: endsAt)
                _ = try await right.sessions.begin(record, redeeming: nil)
                var session = SharedRecords.session(id)
                (session.createdAt, session.refreshedAt, session.endsAt) = (now, now, endsAt)
                _ = try await right.users.signIn(
                    UserSignIn(proof: nil, user: SharedRecords.user("ada"), session: session))
                #expect(try await right.users.spend(family, until: endsAt, now: now))
                let code = AuthorizationCodeRecord(
                    hash: family, signInID: family, poolID: "p", result: [1], family: family, expiresAt: endsAt)
                #expect(try await right.codes.add(code, now: now))
                try await right.limits.remember(device: id, endsAt: endsAt)
                let kept = id == "open" ? endsAt : endsAt - PostgresRevocations.grace
                try await right.revocations.keep([RevocationRecord(issuer: "i", claim: "jti", value: id, endsAt: kept)])
            }
            let itsNow = now + error
            try await wrong.sessions.removeEnded(now: itsNow)
            try await wrong.users.removeEnded(now: itsNow)
            try await wrong.codes.removeEnded(now: itsNow)
            try await wrong.limits.removeEnded(now: itsNow, limit: 99)
            #expect(try await wrong.revocations.all(now: itsNow).map(\.value) == ["open"])
            try await wrong.revocations.removeEnded(now: itsNow)
            for (id, isThere) in [("open", true), ("over", false)] {
                let family = Array(id.utf8)
                #expect(try await (right.sessions.session(family) != nil) == isThere, "\(id)")
                #expect(try await (right.users.session(id) != nil) == isThere, "\(id)")
                #expect(try await right.users.isSpent(family) == isThere, "\(id)")
                let state = try await wrong.codes.state(of: family, poolID: "p", now: itsNow)
                #expect(state == (isThere ? .open(result: [1], family: family) : .unknown), "\(id)")
                #expect(try await wrong.codes.use(family, poolID: "p", now: itsNow) == isThere, "\(id)")
                let standing = try await wrong.limits.standing(ofDevice: id, failures: [], now: itsNow)
                #expect(standing.knowsDevice == isThere, "\(id)")
            }
        }

        @Test("A gateway that starts with its clock behind learns what is revoked of tokens that it takes for valid")
        func behind() async throws {
            let (right, wrong, clock) = try await gateways()
            let now = clock.sharedTime()
            let ended = RevocationRecord(issuer: "i", claim: "jti", value: "late", endsAt: now - 60)
            try await right.revocations.keep([ended])
            try await right.revocations.removeEnded(now: now)
            let itsNow = now - 600
            #expect(try await wrong.revocations.all(now: itsNow) == [ended])
        }

        @Test("What a gateway whose clock is wrong writes has the right time", arguments: errors)
        func rightTimes(error: Int64) async throws {
            let began = ContinuousClock.now
            let (right, wrong, clock) = try await gateways()
            let now = clock.sharedTime()
            // The clocks differ by the time that it took to ask for them.
            let asking = (ContinuousClock.now - began).components.seconds + 1
            func isNow(_ time: Int64?) -> Bool {
                time.map { (now - asking...clock.sharedTime() + asking).contains($0) } ?? false
            }
            let itsNow = now + error
            for id in ["a", "b"] {
                var session = SharedRecords.session(id)
                session.endsAt = now + 600
                _ = try await right.users.signIn(
                    UserSignIn(proof: nil, user: SharedRecords.user("ada"), session: session))
            }
            #expect(try await wrong.users.end("a", at: itsNow))
            #expect(try await wrong.users.endAll(of: "id-ada", at: itsNow).map(\.id) == ["b"])
            #expect(try await right.users.sessions(of: "id-ada").allSatisfy { isNow($0.endedAt) })
            #expect(try await isNow(wrong.users.setDisabled(at: itsNow, of: "id-ada")?.disabledAt))
            let token = SharedRecords.token("t", of: "id-ada", at: now - 100)
            try await right.users.keep(token)
            func claim(_ age: Int64) async throws -> Int {
                try await wrong.users.claimAppleTokens(
                    validatedBefore: itsNow - age, pause: age, now: itsNow, limit: 9
                ).count
            }
            #expect(try await claim(200) == 0)
            #expect(try await claim(50) == 1)
            #expect(try await isNow(right.users.appleTokens(of: "id-ada").first?.validatedAt))
            let failure = try await wrong.limits.addFailures(of: ["k"], at: itsNow * 1000, endsAt: itsNow + 900)
            #expect(isNow(failure[0].lastAt / 1000) && isNow(failure[0].endsAt - 900))
            let reset = try await wrong.limits.resetFailures(of: "k", at: itsNow * 1000, endsAt: itsNow + 900)
            #expect(isNow(reset.epoch / 1000))
            let message = OutboxMessage(
                key: "k", destination: "d", kind: "k", body: "{}", createdAt: itsNow * 1000)
            #expect(try await wrong.outbox.add(message))
            // The clocks differ by what it took to ask.
            var claimed: [OutboxMessage] = []
            while claimed.isEmpty {
                claimed = try await right.outbox.claim(
                    for: "d", now: now * 1000, lease: 60_000, longestPause: 1000, limit: 9)
            }
            #expect(claimed.allSatisfy { isNow($0.createdAt / 1000) })
            let again = try await wrong.outbox.claim(
                for: "d", now: itsNow * 1000, lease: 60_000, longestPause: 1000, limit: 9)
            #expect(again.isEmpty, "another has it")
        }
    }
}
