import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Store

/// Authorization codes that the gateway itself gave a moment ago.
extension HostedSignInTests {
    /// Counts what is asked of the records.
    private final class CountedLookUps: AuthorizationCodeRecords {
        private let codes: StoredAuthorizationCodes
        private let counted = Mutex(0)

        var count: Int { counted.withLock { $0 } }

        init(_ codes: StoredAuthorizationCodes) {
            self.codes = codes
        }

        func state(of hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeState {
            countOne()
            return try await codes.state(of: hash, poolID: poolID, now: now)
        }

        private func countOne() { counted.withLock { $0 += 1 } }

        func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool {
            try await codes.add(record, now: now)
        }

        func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool {
            try await codes.use(hash, poolID: poolID, now: now)
        }

        func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]] { [] }
        func removeEnded(now: Int64) async throws {}
    }

    private static func accounts(_ codes: StoredAuthorizationCodes, _ lookUps: CountedLookUps) throws -> CognitoAccounts
    {
        try Fixture.accounts(
            RecordedFetcher(tokens(), Fixture.output([:])), settings: settings,
            records: StoredSessions(codes.store), codes: lookUps)
    }

    @Test("The gateway that gave a code need not look it up; who shows the code again ends its session")
    func recentCode() async throws {
        let codes = try Self.codes()
        let lookUps = CountedLookUps(codes)
        let accounts = try Self.accounts(codes, lookUps)
        #expect(try await Self.comeBack(accounts, codes).status == .seeOther)
        #expect(await accounts.answer(Self.redemption()).status == .ok)
        #expect(lookUps.count == 0)
        #expect(await accounts.answer(Self.redemption()).status == .badRequest)
        #expect(lookUps.count == 1)
        let sessions = try await StoredSessions(codes.store).all(subject: Fixture.username, poolID: Fixture.poolID)
        #expect(sessions.map(\.endedAt) == [Fixture.now])
    }

    @Test("A code that another gateway has redeemed meanwhile ends its session")
    func redeemedElsewhere() async throws {
        let codes = try Self.codes()
        let accounts = try Self.accounts(codes, CountedLookUps(codes))
        #expect(try await Self.comeBack(accounts, codes).status == .seeOther)
        #expect(try await Self.accounts(RecordedFetcher(), codes).answer(Self.redemption()).status == .ok)
        #expect(await accounts.answer(Self.redemption()).status == .badRequest)
        let sessions = try await StoredSessions(codes.store).all(subject: Fixture.username, poolID: Fixture.poolID)
        #expect(sessions.map(\.endedAt) == [Fixture.now])
    }

    @Test(
        "A result is taken once, by its own pool, until the code ends",
        arguments: [("p", 59, true), ("p", 60, false), ("q", 59, false)])
    func recentResult(_ poolID: String, _ now: Int64, _ isThere: Bool) async throws {
        let codes = try Self.codes()
        let lookUps = CountedLookUps(codes)
        let recent = RecentCodes(lookUps)
        let record = AuthorizationCodeRecord(
            hash: [1], signInID: [2], poolID: "p", result: [3], family: [4], expiresAt: 60)
        #expect(try await recent.add(record, now: 0))
        #expect(try await !recent.add(record, now: 0))
        let state = try await recent.state(of: [1], poolID: poolID, now: now)
        #expect(state == (isThere ? .open(result: [3], family: [4]) : .unknown))
        #expect(lookUps.count == (isThere ? 0 : 1))
        _ = try await recent.state(of: [1], poolID: "p", now: 59)
        #expect(lookUps.count == (isThere ? 1 : 2))
    }
}
