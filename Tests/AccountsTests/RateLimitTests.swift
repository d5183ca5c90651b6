import Encoding
import Pipeline
import Testing

@testable import Accounts

@Suite("Rate limits")
struct RateLimitTests {
    static let limit = RateLimit(10, per: 60)

    @Test("So many pass within a window, and one more says when to come again")
    func oneWindow() {
        var count = SlidingCount(Self.limit, at: 600_000)
        for _ in 0..<10 {
            #expect(count.wait(Self.limit, at: 600_000) == 0)
            count.count()
        }
        let wait = count.wait(Self.limit, at: 600_000)
        // In the next window nine of the ten still count at first: 10 × (1 − x) ≤ 9.
        #expect(wait == 66_000)
        count.advance(Self.limit, to: 600_000 + wait)
        #expect(count.wait(Self.limit, at: 600_000 + wait) == 0)
    }

    @Test("No two bursts fit around the moment where a window ends")
    func edges() {
        var count = SlidingCount(Self.limit, at: 659_000)
        for _ in 0..<10 { count.count() }
        count.advance(Self.limit, to: 660_000)
        #expect(count.wait(Self.limit, at: 660_000) > 0)
    }

    /// A property: in any span of one window's length at most twice the limit passes, and waiting as told is enough.
    @Test("Waiting as told lets exactly the next one through", arguments: [1, 2, 7, 60])
    func waiting(allowed: Int) {
        let limit = RateLimit(allowed, per: 30)
        var now: Int64 = 1_000_000
        var count = SlidingCount(limit, at: now)
        var passed: [Int64] = []
        for _ in 0..<(allowed * 5) {
            count.advance(limit, to: now)
            let wait = count.wait(limit, at: now)
            now += wait
            count.advance(limit, to: now)
            #expect(count.wait(limit, at: now) == 0, "after \(passed.count) at \(now)")
            count.count()
            passed.append(now)
        }
        for start in passed {
            #expect(passed.count { $0 >= start && $0 < start + 30_000 } <= allowed * 2)
        }
    }

    @Test(
        "A clock set back begins another window, with what was counted last",
        arguments: [120, 7200, 40 * 86_400] as [Int64])
    func setBack(seconds: Int64) {
        let now: Int64 = 1_780_000_000_000
        var count = SlidingCount(Self.limit, at: now)
        for _ in 0..<10 { count.count() }
        let back = now - seconds * 1000
        count.advance(Self.limit, to: back)
        let wait = count.wait(Self.limit, at: back)
        #expect((1...120_000).contains(wait), "neither free nor held up until the clock has caught up")
        count.advance(Self.limit, to: back + wait)
        #expect(count.wait(Self.limit, at: back + wait) == 0)
    }

    @Test("Two windows later nothing is left, also after a clock was set back")
    func time() {
        var count = SlidingCount(Self.limit, at: 600_000)
        for _ in 0..<10 { count.count() }
        count.advance(Self.limit, to: 500_000)
        #expect(count.wait(Self.limit, at: 600_000) > 0)
        count.advance(Self.limit, to: 720_000)
        #expect(count == SlidingCount(Self.limit, at: 720_000))
    }

    @Test("What others have counted of the same window is taken over")
    func others() {
        var count = SlidingCount(Self.limit, at: 600_000)
        count.count()
        count.adopt(total: 10, ofWindow: 10)
        #expect(count.current == 10)
        count.adopt(total: 4, ofWindow: 9)
        #expect(count.previous == 4)
        count.adopt(total: 2, ofWindow: 11)
        #expect(count == SlidingCount(window: 11, current: 2, previous: 10))
    }

    @Test("A table holds no more than it may, and what ends soonest makes way")
    func table() {
        var table = ExpiringTable<Int>(capacity: 80)
        for number in 0..<1000 { table.set(number, of: "\(number)", endsAt: Int64(1000 + number), at: 0) }
        #expect(table.count <= 80)
        #expect(table.value(of: "999", at: 0) == 999)
        #expect(table.value(of: "0", at: 0) == nil)
        #expect(table.value(of: "999", at: 1999) == nil)
        table.removeEnded(at: 3000)
        #expect(table.count == 0)
    }
}

@Suite("Lockout")
struct LockoutTests {
    static let policy = LockoutPolicy(after: 5, first: 30, longest: 900, most: 100, forgetAfter: 86_400)

    @Test(
        "Locks double up to the longest, and after a hundred failures hold until they are forgotten",
        arguments: [
            (0, 0), (4, 0), (5, 30), (6, 60), (7, 120), (9, 480), (10, 900), (50, 900), (99, 900), (100, 86_400),
            (1_000_000, 86_400),
        ] as [(Int64, Int64)])
    func locks(failures: Int64, seconds: Int64) {
        #expect(Self.policy.lock(afterFailures: failures) == seconds)
    }

    @Test(
        "After a clock was set back a lock holds no longer than it is long, and no failure locks that did not",
        arguments: [(1, 0), (4, 0), (5, 30_000), (6, 60_000), (100, 86_400_000)] as [(Int64, Int64)])
    func setBack(failures: Int64, longest: Int64) {
        let now: Int64 = 1_780_000_000_000
        for step: Int64 in [1, 7200, 40 * 86_400] {
            let wait = Failures(count: failures, lastAt: now, pending: 0).wait(Self.policy, at: now - step * 1000)
            #expect(wait == longest, "\(step)")
        }
    }

    @Test("Attempts whose outcome is not known yet count as failed")
    func pending() {
        var failures = Failures()
        for _ in 0..<5 {
            #expect(failures.wait(Self.policy, at: 0) == 0)
            failures.pending += 1
        }
        #expect(failures.wait(Self.policy, at: 0) > 0)
        failures = Failures(count: 7, lastAt: 1000, pending: 0)
        #expect(failures.wait(Self.policy, at: 1000) == 120_000)
        #expect(failures.wait(Self.policy, at: 121_000) == 0)
        failures.pending = 1
        #expect(failures.wait(Self.policy, at: 121_000) > 0)
    }
}
