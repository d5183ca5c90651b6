import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of authorization codes")
    struct AuthorizationCodes {
        private static func code(
            _ number: UInt8, signIn: UInt8? = nil, poolID: String = "p", expiresAt: Int64 = 60
        ) -> AuthorizationCodeRecord {
            AuthorizationCodeRecord(
                hash: [number], signInID: [signIn ?? number], poolID: poolID, result: [number], family: [number, 4],
                expiresAt: expiresAt)
        }

        private static func session(_ family: [UInt8], poolID: String = "p", at time: Int64 = 1) -> SessionRecord {
            SessionRecord(
                family: family, poolID: poolID, subject: "ada", originID: nil, deviceID: nil, platform: nil,
                generation: 0, token: [1], signedInAt: time, refreshedAt: time, endsAt: 1000)
        }

        @Test("Used and expired codes are forgotten ten minutes after their end, and nothing sooner")
        func forgetting() async throws {
            let codes = PostgresAuthorizationCodes(try await RecordsDatabase().store)
            #expect(try await codes.add(Self.code(1, signIn: 2), now: 0))
            #expect(try await !codes.add(Self.code(9, signIn: 2), now: 0), "a sign-in gives one code")
            #expect(try await codes.state(of: [1], poolID: "other", now: 1) == .unknown)
            #expect(try await !codes.use([1], poolID: "other", now: 1))
            #expect(try await codes.state(of: [1], poolID: "p", now: 59) == .open(result: [1], family: [1, 4]))
            #expect(try await codes.state(of: [1], poolID: "p", now: 60) == .unknown)
            #expect(try await !codes.use([1], poolID: "p", now: 60))
            #expect(try await codes.use([1], poolID: "p", now: 59))
            #expect(try await !codes.use([1], poolID: "p", now: 59))
            try await codes.removeEnded(now: 659)
            #expect(try await codes.state(of: [1], poolID: "p", now: 659) == .used(family: [1, 4]))
            #expect(try await !codes.add(Self.code(1, signIn: 2), now: 659))
            try await codes.removeEnded(now: 660)
            #expect(try await codes.state(of: [1], poolID: "p", now: 660) == .unknown)
        }

        @Test("Unredeemed codes are taken once, of one pool, so many at a time, and are kept for minutes")
        func takingUnused() async throws {
            let codes = PostgresAuthorizationCodes(try await RecordsDatabase().store)
            for number in 0..<20 as Range<UInt8> {
                #expect(try await codes.add(Self.code(number, poolID: number < 18 ? "p" : "other"), now: 0))
            }
            #expect(try await codes.use([0], poolID: "p", now: 1))
            #expect(try await codes.takeUnused(poolID: "p", now: 59, limit: 16).isEmpty)
            try await codes.removeEnded(now: 359)
            let first = try await codes.takeUnused(poolID: "p", now: 359, limit: 16)
            let second = try await codes.takeUnused(poolID: "p", now: 359, limit: 16)
            #expect((first.count, second.count) == (16, 1))
            #expect(Set((first + second).map { $0[0] }) == Set(1..<18))
            try await codes.removeEnded(now: 360)
            #expect(try await codes.takeUnused(poolID: "other", now: 360, limit: 16).isEmpty)
        }

        @Test("A clock that is not believed takes no code away")
        func doubted() async throws {
            let store = try await RecordsDatabase().store
            let codes = PostgresAuthorizationCodes(store, clock: LimitedClock(limit: 59))
            #expect(try await codes.add(Self.code(1), now: 0))
            #expect(try await codes.takeUnused(poolID: "p", now: 9999, limit: 16).isEmpty)
            try await codes.removeEnded(now: 9999)
            #expect(try await codes.use([1], poolID: "p", now: 59))
        }

        @Test("A code gives one session; one that is used, has ended or is another pool's gives none")
        func redeeming() async throws {
            let store = try await RecordsDatabase().store
            let (codes, sessions) = (PostgresAuthorizationCodes(store), PostgresSessions(store))
            #expect(try await codes.add(Self.code(1), now: 0))
            for refused in [Self.session([1, 4], poolID: "other"), Self.session([1, 4], at: 60)] {
                #expect(try await !sessions.begin(refused, redeeming: [1]))
            }
            #expect(try await !sessions.begin(Self.session([1, 4]), redeeming: [7]))
            #expect(try await sessions.session([1, 4]) == nil)
            #expect(try await sessions.begin(Self.session([1, 4], at: 59), redeeming: [1]))
            #expect(try await sessions.session([1, 4]) == Self.session([1, 4], at: 59))
            #expect(try await codes.state(of: [1], poolID: "p", now: 59) == .used(family: [1, 4]))
            #expect(try await !sessions.begin(Self.session([5]), redeeming: [1]))
            #expect(try await sessions.session([5]) == nil)
        }
    }
}
