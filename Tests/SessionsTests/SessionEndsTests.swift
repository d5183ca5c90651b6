import ClockSteps
import Cryptography
import Encoding
import Foundation
import Logging
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Clocks
@testable import Keys
@testable import Sessions
@testable import Store

@Suite("What ends sessions at the proxy")
struct SessionEndsTests {
    static let issuer = "https://api.example.com"
    let clock = ManualClock()

    func parts(
        _ path: String, maximumCount: Int = 100, _ users: (any UserSessionRecords)? = nil
    ) throws -> (RevocationService, SessionEnds) {
        let store = StoredRevocations(try GatewayStore.open(in: path))
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let service = RevocationService(
            records: store, maximumCount: maximumCount, logger: logger, now: { [clock] in clock.read() },
            revocationTime: { [clock] in clock.read() }, publish: {})
        let users: any UserSessionRecords = try users ?? StoredUsers(GatewayStore.open(in: path))
        let ends = SessionEnds(
            users, service, issuer: Self.issuer, logger: logger, uptime: { [clock] in clock.uptime },
            now: { [clock] in clock.read() })
        return (service, ends)
    }

    static func token(_ session: String, rotation: Int64) -> VerifiedToken {
        VerifiedToken(
            issuer: issuer, issuerName: "s", subject: "ada", tokenUse: .session, clientID: "c", expires: .max,
            claims: ["sid": .string(session), RevocationList.rotationClaim: .number(JSONNumber(rotation))], keyID: "k")
    }

    func superseded(_ session: String, at refreshedAt: Int64, rotation: Int64 = 1) -> SupersededSession {
        SupersededSession(
            id: session, rotation: rotation, refreshedAt: refreshedAt, expiresAt: ManualClock.start + 1000)
    }

    @Test("A token that was replaced ends when nobody may ask for its successor with it any more, and no sooner")
    func afterTheWindow() async throws {
        try await withDirectory { path in
            let (service, ends) = try parts(path)
            ends.supersede(superseded("one", at: ManualClock.start))
            ends.supersede(superseded("two", at: ManualClock.start + 1))
            clock.advance(60)
            await ends.endDue()
            #expect(!service.current.revokes(Self.token("one", rotation: 0)))
            clock.advance(1)
            await ends.endDue()
            #expect(service.current.revokes(Self.token("one", rotation: 0)))
            #expect(!service.current.revokes(Self.token("one", rotation: 1)))
            #expect(!service.current.revokes(Self.token("two", rotation: 0)))
            clock.advance(1)
            await ends.endDue()
            #expect(service.current.revokes(Self.token("two", rotation: 0)))
        }
    }

    @Test("A replaced token ends in its time, or at once where a clock was wrong", arguments: ClockSteps.allCases)
    func steps(steps: ClockSteps) async throws {
        try await withDirectory { path in
            let (service, ends) = try parts(path)
            ends.supersede(superseded("s", at: clock.read()))
            clock.advance(30)
            try await clock.take(steps) {
                try await ends.follow()
                await ends.endDue()
            }
            // Its successor has been given: whoever has that one loses nothing by it.
            #expect(service.current.revokes(Self.token("s", rotation: 0)) == (steps != .none))
            #expect(!service.current.revokes(Self.token("s", rotation: 1)))
            clock.advance(31)
            await ends.endDue()
            #expect(service.current.revokes(Self.token("s", rotation: 0)))
            #expect(!service.current.revokes(Self.token("s", rotation: 1)))
        }
    }

    @Test("A flood of refreshes takes at most its share, and revocations have room all the same")
    func share() async throws {
        try await withDirectory { path in
            let (service, ends) = try parts(path, maximumCount: 100)
            for number in 0..<500 { ends.supersede(superseded("s\(number)", at: ManualClock.start)) }
            clock.advance(61)
            await ends.endDue()
            #expect(service.current.supersededCount <= 50)
            let revocations = (0..<100).map { number in
                Revocation(issuer: Self.issuer, .session("r\(number)"), endsAt: ManualClock.start + 1000)
            }
            try await ends.revoke(revocations)
            #expect(service.current.count == 100)
            #expect(service.current.supersededCount == 0, "together they never take more than the limit")
        }
    }

    @Test("After a restart the records say which tokens were replaced")
    func restart() async throws {
        try await withDirectory { path in
            let users = try StoredUsers(GatewayStore.open(in: path))
            let now = ManualClock.start
            let user = UserRecord(id: "ada", issuer: "apple", subject: "a", createdAt: now)
            for (id, refreshedAt) in [("old", now - 100), ("new", now - 10)] {
                let session = UserSessionRecord(
                    id: id, userID: "ada", authTime: now - 200, createdAt: now - 200, refreshedAt: now - 200,
                    expiresAt: now + 500, endsAt: now + 900)
                _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
                var next = session
                (next.rotation, next.refreshedAt, next.expiresAt) = (1, refreshedAt, now + 600)
                #expect(try await users.advance(to: next) == .taken)
            }
            let (service, ends) = try parts(path, users)
            try await ends.follow()
            #expect(service.current.revokes(Self.token("old", rotation: 0)))
            #expect(!service.current.revokes(Self.token("old", rotation: 1)))
            #expect(!service.current.revokes(Self.token("new", rotation: 0)))
            clock.advance(51)
            await ends.endDue()
            #expect(service.current.revokes(Self.token("new", rotation: 0)))
        }
    }

    @Test("A token that was replaced before a start is refused until the longest clock skew after its `exp`")
    func clockSkew() async throws {
        try await withDirectory { path in
            let users = try StoredUsers(GatewayStore.open(in: path))
            let now = ManualClock.start
            let user = UserRecord(id: "ada", issuer: "apple", subject: "a", createdAt: now)
            let session = UserSessionRecord(
                id: "s", userID: "ada", authTime: now - 200, createdAt: now - 200, refreshedAt: now - 200,
                expiresAt: now + 500, endsAt: now + 5000)
            _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
            var next = session
            (next.rotation, next.refreshedAt, next.expiresAt) = (1, now - 100, now + 4000)
            #expect(try await users.advance(to: next) == .taken)
            let (service, ends) = try parts(path, users)
            try await ends.follow()
            clock.advance(500 + 599)
            try await service.removeEnded()
            #expect(service.current.revokes(Self.token("s", rotation: 0)))
            let (later, followers) = try parts(path, users)
            try await followers.follow()
            #expect(later.current.revokes(Self.token("s", rotation: 0)), "also where the start was after its `exp`")
            clock.advance(1)
            try await service.removeEnded()
            #expect(!service.current.revokes(Self.token("s", rotation: 0)), "the gate refuses it by then")
        }
    }

    @Test("A token that was replaced is refused after a restart also where lifetimes were shortened before")
    func shorterLifetime() async throws {
        try await withDirectory { path in
            let before = try SessionFixture()
            let begun = try await before.begin()
            let after = try SessionFixture(before.store, keys: before.keys) { $0.lifetime = 86_400 }
            after.pass(60)
            _ = try #require(try await after.refresh(begun.token).token)
            after.pass(8 * 86_400 + 60)
            try await after.users.removeEnded(now: after.now)
            let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            let service = RevocationService(
                records: StoredRevocations(try GatewayStore.open(in: path)), maximumCount: 100, logger: logger,
                now: { after.now }, revocationTime: { after.now }, publish: {})
            let ends = SessionEnds(
                after.users, service, issuer: SessionFixture.issuer, logger: logger, now: { after.now })
            try await ends.follow()
            let token = try #require(after.verify(begun.token), "it has not expired")
            #expect(service.current.revokes(token))
        }
    }

    @Test("What another process on the same records has refreshed is followed")
    func others() async throws {
        try await withDirectory { path in
            let now = ManualClock.start
            let (service, ends) = try parts(path)
            let other = try StoredUsers(GatewayStore.open(in: path))
            let session = UserSessionRecord(
                id: "s", userID: "ada", authTime: now, createdAt: now, refreshedAt: now, expiresAt: now + 500,
                endsAt: now + 900)
            let user = UserRecord(id: "ada", issuer: "apple", subject: "a", createdAt: now)
            _ = try await other.signIn(UserSignIn(proof: nil, user: user, session: session))
            try await ends.follow()
            clock.advance(5)
            var next = session
            (next.rotation, next.refreshedAt, next.expiresAt, next.successor) = (1, now + 5, now + 600, [1])
            #expect(try await other.advance(to: next) == .taken)
            try await ends.follow()
            clock.advance(60)
            await ends.endDue()
            #expect(!service.current.revokes(Self.token("s", rotation: 0)))
            clock.advance(1)
            await ends.endDue()
            #expect(service.current.revokes(Self.token("s", rotation: 0)))
            #expect(!service.current.revokes(Self.token("s", rotation: 1)))
        }
    }

    @Test("After a reading that failed, all records are read")
    func failedReading() async throws {
        try await withDirectory { path in
            let records = FailingRecords(try StoredUsers(GatewayStore.open(in: path)))
            let (_, ends) = try parts(path, records)
            try await ends.follow()
            try await ends.follow()
            records.failing.withLock { $0 = .reading }
            await #expect(throws: FailingRecords.DiskFull.self) { try await ends.follow() }
            records.failing.withLock { $0 = nil }
            try await ends.follow()
            try await ends.follow()
            #expect(records.positions.withLock { $0.map { $0 == nil } } == [true, false, false, true, false])
        }
    }

    @Test(
        "A token that was replaced during a long pause ends, though its record shows no change any more",
        arguments: [false, true])
    func longPause(stopsUptime: Bool) async throws {
        try await withDirectory { path in
            let now = ManualClock.start
            let (service, ends) = try parts(path)
            let other = try StoredUsers(GatewayStore.open(in: path))
            let session = UserSessionRecord(
                id: "s", userID: "ada", authTime: now, createdAt: now, refreshedAt: now, expiresAt: now + 500,
                endsAt: now + 900)
            let user = UserRecord(id: "ada", issuer: "apple", subject: "a", createdAt: now)
            _ = try await other.signIn(UserSignIn(proof: nil, user: user, session: session))
            try await ends.follow()
            // A machine that is stopped as a whole learns of the pause by the clock of the records alone.
            if stopsUptime { clock.set(error: 120) } else { clock.advance(120) }
            var next = session
            (next.rotation, next.refreshedAt, next.expiresAt) = (1, now + 10, now + 600)
            #expect(try await other.advance(to: next) == .taken)
            try await ends.follow()
            #expect(service.current.revokes(Self.token("s", rotation: 0)))
            #expect(!service.current.revokes(Self.token("s", rotation: 1)))
        }
    }

    @Test("What is due in a reading does not wait for what is not")
    func dueAtOnce() async throws {
        try await withDirectory { path in
            let now = ManualClock.start
            let users = try StoredUsers(GatewayStore.open(in: path))
            let user = UserRecord(id: "ada", issuer: "apple", subject: "a", createdAt: now)
            let session = UserSessionRecord(
                id: "s", userID: "ada", authTime: now - 200, createdAt: now - 200, refreshedAt: now - 200,
                expiresAt: now + 500, endsAt: now + 900)
            _ = try await users.signIn(UserSignIn(proof: nil, user: user, session: session))
            var next = session
            (next.rotation, next.refreshedAt, next.expiresAt) = (1, now - 100, now + 600)
            #expect(try await users.advance(to: next) == .taken)
            let (service, ends) = try parts(path, users)
            ends.supersede(superseded("newer", at: now))
            try await ends.follow()
            #expect(service.current.revokes(Self.token("s", rotation: 0)))
            #expect(!service.current.revokes(Self.token("newer", rotation: 0)))
        }
    }
}
