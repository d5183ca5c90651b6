import Cryptography
import Pipeline
import Telemetry
import TestSupport
import Testing

@testable import Accounts
@testable import Store

@Suite("Events of calls that are not admitted")
struct RefusedCallEventsTests {
    private let one = AccountLimitsTests()

    @Test("Sign-ins that a limit or a lock refuses are logged and post nothing", arguments: [true, false])
    func webhook(isLocked: Bool) async throws {
        let (records, recent) = (try OutboxTests().records(), RecentEvents())
        let webhook = AuditTrail.Webhook(
            destination: "siem", events: Set(AuditEventKind.allCases),
            outbox: OutboxTests().outbox(records, nil), hashes: UserHashes(key: Secret([1])),
            makeKey: { "k-\(recent.lastAuditEvents.count)" })
        let limit = BudgetLimits(address: RateLimit(isLocked ? 9999 : 1, per: 3600))
        let policy = LockoutPolicy(after: 1, first: 3600, longest: 3600, most: 100, forgetAfter: 86_400)
        let guarding = LimitsAndAudit(
            limits: one.limits(try one.store(), [.signIn: limit], lockout: isLocked ? policy : nil),
            audit: AuditTrail(log: nil, recent: recent, webhook: webhook), sync: nil, tally: AccountTally(),
            names: AccountNames(
                key: Secret([1]), records: try Fixture.records(), logger: CapturedLog().logger, now: { 1000 }))
        var call = AccountCall(Fixture.login(), poolID: Fixture.poolID)
        call.account = Fixture.email
        let wrong = AccountOutcome.refused(.notAuthorized, reason: .cognito(.badCredentials))

        try await guarding.end(try await guarding.admit(call), wrong)
        #expect(recent.lastAuditEvents.map(\.kind) == (isLocked ? [.lockedOut, .signInFailed] : [.signInFailed]))
        while try await records.count() < recent.lastAuditEvents.count { await Task.yield() }
        let stored = try await records.count()
        for _ in 0..<200 {
            do throws(Refusal) {
                _ = try await guarding.admit(call)
                Issue.record("the call is admitted")
            } catch {
                await guarding.refused(call, error.outcome)
            }
        }
        #expect(try await records.count() == stored)
        let reason = isLocked ? "account-locked" : "rate-limited-address"
        #expect(recent.lastAuditEvents.allSatisfy { $0.reason == reason })
    }
}
