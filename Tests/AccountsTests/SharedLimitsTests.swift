import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Store

/// The limits of two gateways that share one database, each through a store of its own.
@Suite("Limits of two gateways")
struct SharedLimitsTests {
    private let one = AccountLimitsTests()
    private let directory = NSTemporaryDirectory() + "gatehouse-limits-" + UUID().uuidString

    private func records() throws -> StoredLimits {
        let store = try Store(
            path: directory + "/limits.sqlite",
            migrations: StoredLimits.migrations + StoredSessions.migrations + StoredUsers.migrations
                + PruningClock.migrations)
        try store.followPruningClock(now: one.clock.now / 1000) { [clock = one.clock] in clock.uptime / 1000 }
        return StoredLimits(store)
    }

    private func remove() { try? FileManager.default.removeItem(atPath: directory) }

    @Test("A lock that a proof ends at one gateway ends at the other, and a sign-in resets at both")
    func resets() async throws {
        defer { remove() }
        let (first, second) = (one.limits(try records()), one.limits(try records()))
        try await one.fail(first, one.signIn(), times: 3)
        try await one.fail(second, one.signIn(), times: 2)
        #expect(await one.reached(first, one.signIn()) == .lockout)
        #expect(await one.reached(second, one.signIn()) == .lockout)
        await first.unlock(account: "ada@example.com")
        #expect(await one.reached(first, one.signIn()) == nil)
        #expect(await one.reached(second, one.signIn()) == nil)

        try await one.fail(second, one.signIn(), times: 4)
        try await one.succeed(first, one.signIn())
        try await one.fail(second, one.signIn(), times: 4)
        #expect(await one.reached(second, one.signIn()) == nil)
        try await one.fail(first, one.signIn())
        #expect(await one.reached(second, one.signIn()) == .lockout)
    }

    @Test("Failures at one gateway count at the other before it has one of its own")
    func failures() async throws {
        defer { remove() }
        let (first, second) = (one.limits(try records()), one.limits(try records()))
        try await one.fail(first, one.signIn(), times: 5)
        #expect(await one.reached(second, one.signIn()) == .lockout)
        #expect(await one.reached(second, one.signIn("eve@example.com")) == nil)
        await second.unlock(account: "ada@example.com")
        #expect(await one.reached(first, one.signIn()) == nil)
    }

    @Test("An account's own lock, by whatever name, ends at both gateways")
    func accounts() async throws {
        defer { remove() }
        let (first, second) = (one.limits(try records()), one.limits(try records()))
        func attempt(_ limits: AccountLimits, _ name: String) async throws -> LimitCause? {
            var admitted = try await limits.admit(one.signIn(name))
            let reached = await limits.identify(&admitted, one.signIn(name), as: "user-1")
            if reached == nil { _ = await limits.failed(admitted) } else { limits.ended(admitted) }
            return reached?.cause
        }
        for number in 0..<5 { #expect(try await attempt(first, "name-\(number)") == nil) }
        #expect(try await attempt(second, "name-9") == .lockout)
        await second.unlock(account: "user-1")
        #expect(try await attempt(first, "name-8") == nil)
    }

    @Test("Responses that come in another order than they were written bring no failure back")
    func order() {
        var state = LimitState(AccountLimitSettings())
        state.settings.lockout = LockoutTests.policy
        func record(_ count: Int64, epoch: Int64, at time: Int64 = 1000) -> FailureRecord {
            FailureRecord(key: "k", count: count, lastAt: time, endsAt: 900, epoch: epoch)
        }
        let isLocked = [
            record(5, epoch: 0), record(0, epoch: 2000, at: 1000), record(5, epoch: 0),
            record(4, epoch: 2000, at: 3000), record(5, epoch: 2000, at: 3000),
        ].map { state.adopt($0, at: 4000) }
        #expect(isLocked == [true, false, false, false, true])
    }
}
