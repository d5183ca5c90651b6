import Foundation
import GRDB
import Synchronization
import Testing

@testable import Store

/// Two stores on one file, as two processes have them: each writes on a connection of its own.
@Suite("Concurrent writers of one database", .timeLimit(.minutes(10)))
struct ConcurrentWritersTests {
    private static let now: Int64 = 1_700_000_000
    private static let rounds = 100
    /// Writers in each round, half of them in each store.
    private static let writers = 6

    private let fixture = StoreFixture()

    /// Runs `body` for each writer at the same time.
    private func race<Value: Sendable>(
        _ stores: [Store], _ body: @escaping @Sendable (Store, Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<Self.writers {
                group.addTask { try await body(stores[number % stores.count], number) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func digest(_ kind: UInt8, _ round: Int, _ writer: Int = 0) -> [UInt8] {
        [kind, UInt8(round), UInt8(writer)] + [UInt8](repeating: 0, count: 29)
    }

    private static func proof(_ token: [UInt8], _ nonce: [UInt8]) -> UserSignIn.Proof {
        UserSignIn.Proof(
            digest: token, endsAt: now + 600, nonce: UserSignIn.Spent(digest: nonce, endsAt: now + 600))
    }

    @Test("Of sign-ins with one nonce one uses it up, and the others use up nothing")
    func nonces() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        for round in 0..<Self.rounds {
            let steps = try await race(stores) { store, writer in
                let proof = Self.proof(Self.digest(1, round, writer), Self.digest(2, round))
                return (writer, try await StoredUsers(store).spend(proof, now: Self.now))
            }
            #expect(steps.count { $0.1 == .spent } == 1 && steps.count { $0.1 == .nonceReused } == Self.writers - 1)
            for (writer, step) in steps {
                let isSpent = try await StoredUsers(stores[0]).isSpent(Self.digest(1, round, writer))
                #expect(isSpent == (step == .spent))
            }
        }
    }

    @Test("Of sign-ins with one identity token one uses it up, and the nonces of the others stay unused")
    func identityTokens() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        for round in 0..<Self.rounds {
            let steps = try await race(stores) { store, writer in
                let proof = Self.proof(Self.digest(1, round), Self.digest(2, round, writer))
                return (writer, try await StoredUsers(store).spend(proof, now: Self.now))
            }
            #expect(steps.count { $0.1 == .spent } == 1 && steps.count { $0.1 == .replayed } == Self.writers - 1)
            for (writer, step) in steps {
                let isSpent = try await StoredUsers(stores[1]).isSpent(Self.digest(2, round, writer))
                #expect(isSpent == (step == .spent))
            }
        }
    }

    @Test("Of refreshes with one token one takes the step, and the others see its answer; then one of many ends it")
    func sessions() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        try await StoredSessions(stores[0]).begin(StoreFixture.session(1))
        for round in 0..<Self.rounds {
            let steps = try await race(stores) { store, writer in
                var record = StoreFixture.session(1)
                (record.generation, record.token) = (Int64(round) + 2, [UInt8(writer)])
                return try await StoredSessions(store).advance(to: record)
            }
            let known = try #require(try await StoredSessions(stores[1]).session([1]))
            #expect(steps.count { $0 == .taken } == 1)
            #expect(steps.count { $0 == .overtaken(known) } == Self.writers - 1)
        }
        let ended = try await race(stores) { store, writer in
            let records = StoredSessions(store)
            return writer < 3
                ? try await records.end(family: [1], originIDs: ["o"], poolID: "p", at: Self.now)
                : try await records.endAll(subject: "ada", poolID: "p", except: nil, at: Self.now)
        }
        #expect(ended.flatMap(\.self).map(\.generation) == [Int64(Self.rounds) + 1])
        #expect(ended.flatMap(\.self).allSatisfy { !$0.token.isEmpty && $0.endedAt == nil })
    }

    @Test("Of sessions for one authorization code one begins, also beside those who only use it up")
    func authorizationCodes() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        for round in 0..<Self.rounds {
            let (hash, family) = (Self.digest(3, round), Self.digest(4, round))
            let code = AuthorizationCodeRecord(
                hash: hash, signInID: hash, poolID: "p", result: [1], family: family, expiresAt: Self.now + 60)
            #expect(try await StoredAuthorizationCodes(stores[0]).add(code, now: Self.now))
            let uses = try await race(stores) { store, writer in
                if writer == round % 10 {
                    return (writer, try await StoredAuthorizationCodes(store).use(hash, poolID: "p", now: Self.now))
                }
                var record = StoreFixture.session(1)
                (record.family, record.signedInAt, record.token) = (family, Self.now, [UInt8(writer)])
                return (writer, try await StoredSessions(store).begin(record, redeeming: hash))
            }
            let winners = uses.filter(\.1).map(\.0)
            #expect(winners.count == 1)
            let token = try await StoredSessions(stores[1]).session(family)?.token
            #expect(token == (winners == [round % 10] ? nil : winners.map(UInt8.init)))
        }
    }

    @Test("Of refreshes of a user's session one takes the step; then one of many ends it")
    func userSessions() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        @Sendable func session(_ rotation: Int, _ writer: Int = 0) -> UserSessionRecord {
            UserSessionRecord(
                id: "s", userID: "u", rotation: Int64(rotation), successor: [UInt8(writer)], authTime: Self.now,
                createdAt: Self.now, refreshedAt: Self.now, expiresAt: Self.now + 60, endsAt: Self.now + 600)
        }
        let user = UserRecord(id: "u", issuer: "i", subject: "s", createdAt: Self.now)
        let first = UserSignIn(proof: nil, user: user, session: session(0))
        #expect(try await StoredUsers(stores[0]).signIn(first) == .signedIn(user, isNew: true))
        for round in 1...Self.rounds {
            let steps = try await race(stores) { store, writer in
                try await StoredUsers(store).advance(to: session(round, writer))
            }
            #expect(steps.count { $0 == .taken } == 1)
        }
        let ended = try await race(stores) { try await StoredUsers($0).end("s", at: Self.now + Int64($1)) }
        #expect(ended.count(where: \.self) == 1)
        #expect(try await StoredUsers(stores[1]).sessions(of: "u").map(\.successor) == [nil])
    }

    @Test("Failures are counted one by one within an epoch, and each reset begins one")
    func failures() async throws {
        defer { fixture.remove() }
        let stores = try [fixture.open(), fixture.open()]
        for round in 0..<Self.rounds {
            let records = try await race(stores) { store, writer in
                let (limits, endsAt) = (StoredLimits(store), Self.now + 900)
                return writer == 3
                    ? [try await limits.resetFailures(of: "k\(round)", at: Self.now * 1000, endsAt: endsAt)]
                    : try await limits.addFailures(of: ["k\(round)"], at: Self.now * 1000, endsAt: endsAt)
            }.flatMap(\.self)
            let before = records.filter { $0.epoch == 0 }.map(\.count).sorted()
            let after = records.filter { $0.epoch == Self.now * 1000 }.map(\.count).sorted()
            #expect(before == Array(1...Int64(Self.writers)).prefix(before.count).map(\.self))
            #expect(after == Array(0...Int64(Self.writers)).prefix(after.count).map(\.self))
            #expect(before.count + after.count == Self.writers)
        }
    }

    @Test("Resets in one millisecond, and by a clock that is behind, begin an epoch each")
    func epochs() async throws {
        defer { fixture.remove() }
        let limits = StoredLimits(try fixture.open())
        var epochs: [Int64] = []
        for time in [Self.now, Self.now, Self.now - 3600, Self.now + 1] {
            epochs.append(try await limits.resetFailures(of: "k", at: time * 1000, endsAt: time + 900).epoch)
        }
        #expect(epochs == [0, 1, 2, 1000].map { Self.now * 1000 + $0 })
        #expect(try await limits.failures(now: Self.now, limit: 9).isEmpty)
    }

    /// The statements of one write, in their order, as SQLite runs them.
    private func statements(
        of store: Store, _ body: @Sendable (Store) async throws -> Void
    ) async throws -> [String] {
        let seen = Seen()
        try await store.lookUp { database in
            database.trace { event in seen.add("\(event)") }
        }
        try await body(store)
        try await store.lookUp { $0.trace(options: []) }
        return seen.all
    }

    private final class Seen: Sendable {
        private let statements = Mutex<[String]>([])
        var all: [String] { statements.withLock { $0 } }
        func add(_ statement: String) { statements.withLock { $0.append(statement) } }
    }

    // SQLite's writers are serial, so that no race can tell a read with a write behind it from one statement. Other
    // databases run both between another writer's.
    @Test("What an operation decides is decided by the statement that writes it: nothing is read before")
    func oneStatement() async throws {
        defer { fixture.remove() }
        let store = try fixture.open()
        let operations: [(String, @Sendable (Store) async throws -> Void)] = [
            ("spend", { _ = try await StoredUsers($0).spend(Self.proof([1], [2]), now: Self.now) }),
            ("spend again", { _ = try await StoredUsers($0).spend(Self.proof([1], [3]), now: Self.now) }),
            ("advance", { _ = try await StoredSessions($0).advance(to: StoreFixture.session(1)) }),
            ("end", { _ = try await StoredSessions($0).end(family: [1], originIDs: ["o"], poolID: "p", at: 9) }),
            ("endAll", { _ = try await StoredSessions($0).endAll(subject: "a", poolID: "p", except: nil, at: 9) }),
            ("end of a user's", { _ = try await StoredUsers($0).end("s", at: 9) }),
            ("failure", { _ = try await StoredLimits($0).addFailures(of: ["k"], at: 1, endsAt: 9) }),
            ("reset", { _ = try await StoredLimits($0).resetFailures(of: "k", at: 1, endsAt: 9) }),
        ]
        for (name, operation) in operations {
            let first = try await statements(of: store, operation).first { !$0.hasPrefix("BEGIN") }
            let decision = try #require(first, "\(name)")
            #expect(decision.hasPrefix("INSERT") || decision.hasPrefix("UPDATE"), "\(name): \(decision)")
            #expect(decision.contains("RETURNING"), "\(name): \(decision)")
        }
    }
}
