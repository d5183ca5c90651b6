import ClockSteps
import Cryptography
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Store

/// A time of day that a test moves and sets, in milliseconds.
final class ManualClock: SettableClock {
    private let time: Mutex<(steady: Int64, error: Int64)>

    init(_ milliseconds: Int64 = 1_700_000_000_000) { time = Mutex((milliseconds, 0)) }

    var now: Int64 { time.withLock { $0.steady + $0.error } }
    var uptime: Int64 { time.withLock { $0.steady } }
    func advance(seconds: Int64) { time.withLock { $0.steady += seconds * 1000 } }
    func set(error: Int64) { time.withLock { $0.error = error * 1000 } }

    /// The clock of a process that begins now: the time of day as it is, and from then on the steady clock.
    func ofProcess() -> @Sendable () -> Int64 {
        let difference = now - uptime
        return { self.uptime + difference }
    }
}

@Suite("Limits of account calls")
struct AccountLimitsTests {
    static let key = Secret([UInt8](repeating: 3, count: 32))
    let clock = ManualClock()

    func store() throws -> StoredLimits {
        let store = try Store(
            path: ":memory:",
            migrations: StoredLimits.migrations + StoredSessions.migrations + StoredUsers.migrations
                + PruningClock.migrations)
        try store.followPruningClock(now: clock.now / 1000) { [clock] in clock.uptime / 1000 }
        return StoredLimits(store)
    }

    func limits(
        _ records: any LimitRecords, _ budgets: [AccountBudget: BudgetLimits] = [:],
        lockout: LockoutPolicy? = LockoutTests.policy, log: CapturedLog = CapturedLog()
    ) -> AccountLimits {
        var settings = AccountLimitSettings()
        for (budget, limits) in budgets { settings[budget] = limits }
        settings.lockout = lockout
        return AccountLimits(
            settings: settings, key: Self.key, records: records, logger: log.logger, now: clock.ofProcess())
    }

    func signIn(
        _ account: String = "ada@example.com", device: String? = nil, from address: String = "192.0.2.1"
    ) -> LimitedCall {
        LimitedCall(budget: .signIn, account: account, device: device, clientAddress: address)
    }

    /// The cause of a call's refusal; nil when it was let through and has ended.
    func reached(_ limits: AccountLimits, _ call: LimitedCall) async -> LimitCause? {
        do {
            limits.ended(try await limits.admit(call))
            return nil
        } catch {
            return error.cause
        }
    }

    /// - Parameter pause: seconds that pass before the last one.
    func fail(_ limits: AccountLimits, _ call: LimitedCall, times: Int = 1, waiting pause: Int64 = 0) async throws {
        for number in 1...times {
            if number == times { clock.advance(seconds: pause) }
            _ = await limits.failed(try await limits.admit(call))
        }
    }

    func succeed(_ limits: AccountLimits, _ call: LimitedCall) async throws {
        await limits.succeeded(try await limits.admit(call), call)
    }

    // MARK: Rates

    @Test("An address has so many calls, whomever they are for; of IPv6 it is the /64")
    func address() async throws {
        let limits = limits(try store(), [.signIn: BudgetLimits(address: RateLimit(3, per: 60))])
        for number in 0..<3 {
            #expect(await reached(limits, signIn("u\(number)", from: "2001:db8:1:2::\(number)")) == nil)
        }
        #expect(await reached(limits, signIn("u9", from: "2001:db8:1:2:ffff::1")) == .address)
        #expect(await reached(limits, signIn("u9", from: "2001:db8:1:3::1")) == nil)
        #expect(await reached(limits, signIn("u9", from: "192.0.2.1")) == nil)
        clock.advance(seconds: 120)
        #expect(await reached(limits, signIn("u9", from: "2001:db8:1:2::1")) == nil)
        #expect(limits.refusals.first { $0.cause == "rate-limited-address" }?.count == 1)
    }

    @Test("A call beyond its address's limit looks nothing up, whomever it is for, and is refused once")
    func addressLooksNothingUp() async throws {
        let records = CountedWrites(try store())
        let limit = BudgetLimits(address: RateLimit(5, per: 60), account: RateLimit(5, per: 3600))
        let limits = limits(records, [.signIn: limit])
        try await fail(limits, signIn(), times: 5)
        let lookups = records.lookups
        #expect(lookups > 0)
        for account in ["ada@example.com", "nobody@example.com"] {
            do {
                _ = try await limits.admit(signIn(account, device: "phone-1"))
                Issue.record("the call is admitted")
            } catch {
                // As long for the account that is locked, and beyond its own limit for an hour, as for any other.
                #expect(error.cause == .address && (1...120).contains(error.retryAfter))
            }
        }
        #expect(records.lookups == lookups)
        #expect(limits.refusals.first { $0.cause == "rate-limited-address" }?.count == 2)
        #expect(limits.refusals.allSatisfy { $0.cause == "rate-limited-address" || $0.count == 0 })
        #expect(await reached(limits, signIn(from: "192.0.2.2")) == .account)
    }

    @Test("An account has so many calls, wherever they come from and however it is written")
    func account() async throws {
        let limits = limits(try store(), [.signIn: BudgetLimits(account: RateLimit(2, per: 60))])
        #expect(await reached(limits, signIn("Ada@example.com", from: "192.0.2.1")) == nil)
        #expect(await reached(limits, signIn("ada@example.com", from: "192.0.2.2")) == nil)
        #expect(await reached(limits, signIn("ADA@EXAMPLE.COM", from: "192.0.2.3")) == .account)
        #expect(await reached(limits, signIn("eve@example.com", from: "192.0.2.3")) == nil)
    }

    @Test("All together have so many, and kinds of calls are counted apart")
    func global() async throws {
        let two = BudgetLimits(global: RateLimit(2, per: 60))
        let limits = limits(try store(), [.signIn: two, .codes: two])
        #expect(await reached(limits, signIn("a")) == nil)
        #expect(await reached(limits, signIn("b")) == nil)
        do {
            _ = try await limits.admit(signIn("c"))
            Issue.record("was let through")
        } catch {
            #expect(error.cause == .global)
            #expect((1...120).contains(error.retryAfter))
        }
        let code = LimitedCall(budget: .codes, account: "a", clientAddress: "192.0.2.1")
        #expect(await reached(limits, code) == nil)
    }

    @Test("A refused call counts nothing")
    func refusedCallsAreFree() async throws {
        let limits = limits(try store(), [.signIn: BudgetLimits(address: RateLimit(1, per: 60))])
        #expect(await reached(limits, signIn()) == nil)
        for _ in 0..<50 { #expect(await reached(limits, signIn()) == .address) }
        clock.advance(seconds: 120)
        #expect(await reached(limits, signIn()) == nil)
    }

    // MARK: Lockout

    @Test("Failures lock the account for everyone, whatever the address, and for longer each time")
    func lockout() async throws {
        let limits = limits(try store())
        for number in 0..<4 {
            try await fail(limits, signIn(from: "192.0.2.\(number)"))
            #expect(await reached(limits, signIn(from: "198.51.100.\(number)")) == nil)
        }
        let fifth = try await limits.admit(signIn())
        #expect(await limits.failed(fifth))
        #expect(await reached(limits, signIn(from: "203.0.113.9")) == .lockout)
        clock.advance(seconds: 30)
        try await fail(limits, signIn())
        clock.advance(seconds: 59)
        #expect(await reached(limits, signIn()) == .lockout)
        clock.advance(seconds: 1)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("Guesses made at the same time do not get in before the first has failed")
    func parallel() async throws {
        let limits = limits(try store())
        var admitted: [AdmittedCall] = []
        for _ in 0..<100 {
            if let call = try? await limits.admit(signIn()) { admitted.append(call) }
        }
        #expect(admitted.count == 5)
        for call in admitted { limits.ended(call) }
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("An admission that is dropped counts nothing, and one that failed counts once")
    func dropped() async throws {
        let limits = limits(try store())
        var call = AccountCall(Fixture.login(), poolID: Fixture.poolID)
        call.account = Fixture.email
        let limited = LimitedCall(call)
        for _ in 0..<20 { _ = Admission(call, try await limits.admit(limited), limits) }
        for number in 1...5 {
            let admission = Admission(call, try await limits.admit(limited), limits)
            #expect(await admission.failed() == (number == 5))
        }
        #expect(await reached(limits, limited) == .lockout)
    }

    @Test("A sign-in forgets the failures, a code that was sent does too")
    func success() async throws {
        let limits = limits(try store())
        try await fail(limits, signIn(), times: 4)
        try await succeed(limits, signIn())
        try await fail(limits, signIn(), times: 4)
        #expect(await reached(limits, signIn()) == nil)
        try await fail(limits, signIn())
        #expect(await reached(limits, signIn()) == .lockout)
        await limits.unlock(account: "ada@example.com")
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("A device from which the account was signed in to is not locked out by others, nor limited with them")
    func knownDevice() async throws {
        let limits = limits(
            try store(),
            [.signIn: BudgetLimits(account: RateLimit(8, per: 3600), global: RateLimit(20, per: 3600))])
        try await succeed(limits, signIn(device: "phone-1"))
        try await fail(limits, signIn(from: "203.0.113.1"), times: 5)
        #expect(await reached(limits, signIn(from: "203.0.113.1")) == .lockout)
        #expect(await reached(limits, signIn(device: "another")) == .lockout)
        #expect(await reached(limits, signIn(device: "phone-1")) == nil)
        // A device is known for one account.
        for number in 0..<20 { _ = await reached(limits, signIn("u\(number)", device: "phone-1")) }
        #expect(await reached(limits, signIn("eve@example.com", device: "phone-1")) == .global)
        #expect(await reached(limits, signIn(device: "phone-1")) == nil)
    }

    @Test("A sign-in to an account whose name differs in case forgets no failures, and its device is not the other's")
    func otherCase() async throws {
        let limits = limits(try store())
        try await succeed(limits, signIn("victim1", device: "phone-1"))
        let other = signIn("Victim1", device: "phone-2")
        for _ in 0..<2 {
            try await fail(limits, signIn("victim1"), times: 2)
            await limits.succeeded(try await limits.admit(other), other, as: "pool/user/Victim1") { false }
        }
        #expect(await reached(limits, signIn("victim1")) == nil)
        try await fail(limits, signIn("victim1"))
        for device in [nil, "phone-2", "phone-3"] {
            #expect(await reached(limits, signIn("victim1", device: device)) == .lockout)
        }
        #expect(await reached(limits, signIn("Victim1", device: "phone-1")) == .lockout)
        #expect(await reached(limits, signIn("victim1", device: "phone-1")) == nil)
        #expect(await reached(limits, other) == nil)
    }

    private final class Questions: Sendable {
        let count = Mutex(0)
    }

    @Test("Whether nobody else has had the names is asked only where something would be forgotten")
    func ownsNames() async throws {
        let limits = limits(try store())
        let asked = Questions()
        for failures in [0, 3] {
            if failures > 0 { try await fail(limits, signIn(), times: failures) }
            await limits.succeeded(try await limits.admit(signIn()), signIn(), as: "pool/user/ada") {
                asked.count.withLock { $0 += 1 }
                return true
            }
            #expect(asked.count.withLock { $0 } == (failures > 0 ? 1 : 0))
        }
        try await fail(limits, signIn(), times: 4)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("The keys of devices of names in lower case are those of earlier versions")
    func deviceKeys() throws {
        var call = AccountCall(Fixture.login(), poolID: Fixture.poolID)
        call.account = Fixture.email
        let account = try #require(LimitedCall(call).account)
        let keys = LimitKeys(Self.key)
        #expect(keys.knownDevice("phone-1", of: account) == "-A_b0TK-mbC_8BSo2NRYTA")
        #expect(keys.failures(of: account, on: "phone-1") == "8TATFNu6hWHFYSTDE3fMnQ")
    }

    @Test("The codes of sign-ins from known devices have a limit that strangers do not use up, and that all share")
    func codesForKnownDevices() async throws {
        let limits = limits(
            try store(), [.messages: BudgetLimits(account: RateLimit(2, per: 3600), global: RateLimit(4, per: 3600))])
        func code(_ account: String = "ada@example.com", device: String? = nil) -> LimitedCall {
            LimitedCall(budget: .messages, account: account, device: device, clientAddress: "192.0.2.1")
        }
        for device in ["phone-1", "phone-2"] { try await succeed(limits, signIn(device: device)) }
        for _ in 0..<2 { #expect(await reached(limits, code()) == nil) }
        for device in [nil, "another"] { #expect(await reached(limits, code(device: device)) == .account) }
        for _ in 0..<2 { #expect(await reached(limits, code("eve@example.com")) == nil) }
        #expect(await reached(limits, code("mallory@example.com", device: "phone-1")) == .global)
        for device in ["phone-1", "phone-2"] { #expect(await reached(limits, code(device: device)) == nil) }
        for device in ["phone-1", "phone-2"] { #expect(await reached(limits, code(device: device)) == .account) }
    }

    @Test("A device counts at a sign-in and for its code, and in no other call")
    func callsOfDevices() {
        var call = AccountCall(Fixture.login(), poolID: Fixture.poolID)
        call.account = Fixture.email
        call.device = DeviceInfo(directDevice: "phone-1")
        for operation in [AccountOperation.login, .challenge, .signInCode] {
            call.operation = operation
            #expect(LimitedCall(call).device == "phone-1", "\(operation.name)")
        }
        for operation in [AccountOperation.register, .forgotPassword, .confirm, .resetPassword, .me] {
            call.operation = operation
            #expect(LimitedCall(call).device == nil, "\(operation.name)")
        }
    }

    @Test("A known device has a lock of its own, which locks nobody else")
    func knownDeviceLock() async throws {
        let limits = limits(try store())
        try await succeed(limits, signIn(device: "phone-1"))
        try await fail(limits, signIn(device: "phone-1"), times: 5)
        #expect(await reached(limits, signIn(device: "phone-1")) == .lockout)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("A proven device has one lock, whatever it calls itself")
    func provenDevice() async throws {
        let limits = limits(try store())
        func call(_ name: String?) -> LimitedCall {
            var call = signIn(device: name)
            call.provenDevice = "eu_1"
            return call
        }
        try await succeed(limits, call("phone-1"))
        for name in ["a", "b", nil, "phone-1", "c"] { try await fail(limits, call(name)) }
        for name in ["a", nil, "phone-1", "new"] { #expect(await reached(limits, call(name)) == .lockout) }
        // That name of its own is known, as a device that signed in.
        #expect(await reached(limits, signIn(device: "phone-1")) == nil)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("A device is known no longer when it has not signed in for long")
    func forgottenDevice() async throws {
        let limits = limits(try store())
        try await succeed(limits, signIn(device: "phone-1"))
        clock.advance(seconds: AccountLimits.deviceLifetime + 1)
        try await fail(limits, signIn(), times: 5)
        #expect(await reached(limits, signIn(device: "phone-1")) == .lockout)
    }

    // MARK: The store

    /// Another process on the same records, which has tidied up.
    func restarted(_ records: StoredLimits, _ budgets: [AccountBudget: BudgetLimits] = [:]) async throws
        -> AccountLimits
    {
        let limits = limits(records, budgets)
        try await limits.load()
        try await records.removeEnded(now: clock.now / 1000, limit: 999)
        return limits
    }

    @Test(
        "A lock holds for its time, no more and no less, whatever the clock is meanwhile",
        arguments: ClockSteps.allCases, [false, true])
    func lockAndSteps(steps: ClockSteps, restarts: Bool) async throws {
        let store = try store()
        var limits = limits(store)
        try await fail(limits, signIn(), times: 6, waiting: 30)
        try await clock.take(steps) {
            if restarts { limits = try await restarted(store) }
            // A process that begins forty days later takes it for ended.
            let isOpen = restarts && steps == .aheadAndBack
            #expect((await reached(limits, signIn()) == nil) == isOpen)
        }
        if restarts { limits = try await restarted(store) }
        clock.advance(seconds: 59)
        #expect(await reached(limits, signIn()) == .lockout)
        clock.advance(seconds: 1)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test(
        "A limit holds for its time, no more and no less, whatever the clock is meanwhile",
        arguments: ClockSteps.allCases, [false, true])
    func limitAndSteps(steps: ClockSteps, restarts: Bool) async throws {
        let (store, budgets) = (try store(), [AccountBudget.signIn: BudgetLimits(address: RateLimit(3, per: 60))])
        var limits = limits(store, budgets)
        for _ in 0..<3 { #expect(await reached(limits, signIn()) == nil) }
        try await limits.write()
        try await clock.take(steps) {
            if restarts { limits = try await restarted(store, budgets) }
            let isOpen = restarts && steps == .aheadAndBack
            #expect((await reached(limits, signIn()) == nil) == isOpen)
        }
        if restarts { limits = try await restarted(store, budgets) }
        #expect(await reached(limits, signIn()) == .address)
        clock.advance(seconds: 120)
        #expect(await reached(limits, signIn()) == nil)
    }

    @Test("A device stays known when the clock is wrong for a while", arguments: ClockSteps.allCases)
    func deviceAndSteps(steps: ClockSteps) async throws {
        let store = try store()
        try await succeed(limits(store), signIn(device: "phone-1"))
        clock.advance(seconds: AccountLimits.deviceLifetime - 100)
        _ = try await restarted(store)
        try await clock.take(steps) { _ = try await restarted(store) }
        let limits = try await restarted(store)
        try await fail(limits, signIn(), times: 5)
        #expect(await reached(limits, signIn(device: "phone-1")) == nil)
    }

    @Test("What was counted, locks and known devices survive a restart")
    func restart() async throws {
        let store = try store()
        let budgets: [AccountBudget: BudgetLimits] = [.codes: BudgetLimits(address: RateLimit(3, per: 60))]
        let first = limits(store, budgets)
        let code = LimitedCall(budget: .codes, account: "a", clientAddress: "192.0.2.1")
        for _ in 0..<3 { #expect(await reached(first, code) == nil) }
        try await first.write()
        try await succeed(first, signIn(device: "phone-1"))
        try await fail(first, signIn(), times: 5)

        let second = limits(store, budgets)
        try await second.load()
        #expect(await reached(second, code) == .address)
        #expect(await reached(second, signIn()) == .lockout)
        #expect(await reached(second, signIn(device: "phone-1")) == nil)
    }

    @Test("Two processes with one store count together")
    func shared() async throws {
        let store = try store()
        let budgets: [AccountBudget: BudgetLimits] = [.codes: BudgetLimits(address: RateLimit(4, per: 60))]
        let (one, other) = (limits(store, budgets), limits(store, budgets))
        let code = LimitedCall(budget: .codes, account: nil, clientAddress: "192.0.2.1")
        for limits in [one, other, one, other] {
            #expect(await reached(limits, code) == nil)
            try await limits.write()
        }
        #expect(await reached(other, code) == .address)
        try await fail(one, signIn(), times: 3)
        try await fail(other, signIn(), times: 2)
        #expect(await reached(other, signIn()) == .lockout)
    }

    @Test("What is stored says nothing of accounts and addresses")
    func privacy() async throws {
        let store = try store()
        let limits = limits(
            store, [.signIn: BudgetLimits(address: RateLimit(9, per: 60), account: RateLimit(9, per: 60))])
        try await fail(limits, signIn(device: "phone-1"))
        try await limits.write()
        let counts = try await store.counts(now: 0, limit: 99)
        #expect(counts.count == 2)
        let keys = try await counts.map(\.key) + store.failures(now: 0, limit: 99).map(\.key)
        #expect(keys.allSatisfy { $0.utf8.count == 22 })
        // A failure has a row beside its own.
        #expect(Set(keys).count == 4)
    }

    /// Counts what is written for failures, and looked up; cannot write counts while it is broken.
    final class CountedWrites: LimitRecords {
        let records: StoredLimits
        let isBroken = Mutex(false)
        private let counted = Mutex<[Int]>([])
        private let lookedUp = Mutex(0)
        /// How many rows each write of failures had.
        var rows: [Int] { counted.withLock { $0 } }
        /// How often a device and failures were looked up.
        var lookups: Int { lookedUp.withLock { $0 } }

        private let onAdd: @Sendable () async -> Void

        /// - Parameter onAdd: called before counts are written.
        init(_ records: StoredLimits, onAdd: @escaping @Sendable () async -> Void = {}) {
            self.records = records
            self.onAdd = onAdd
        }

        func add(_ counts: [CountRecord]) async throws -> [Int64] {
            await onAdd()
            if isBroken.withLock({ $0 }) { throw BrokenRecords.Broken() }
            return try await records.add(counts)
        }
        func addFailures(of keys: [String], at milliseconds: Int64, endsAt: Int64) async throws -> [FailureRecord] {
            counted.withLock { $0.append(Set(keys).count) }
            return try await records.addFailures(of: keys, at: milliseconds, endsAt: endsAt)
        }
        func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord {
            try await records.resetFailures(of: key, at: milliseconds, endsAt: endsAt)
        }
        func remember(device key: String, endsAt: Int64) async throws {
            try await records.remember(device: key, endsAt: endsAt)
        }
        func standing(ofDevice device: String?, failures keys: [String], now: Int64) async throws -> LimitStanding {
            lookedUp.withLock { $0 += 1 }
            return try await records.standing(ofDevice: device, failures: keys, now: now)
        }
        func counts(now: Int64, limit: Int) async throws -> [CountRecord] {
            try await records.counts(now: now, limit: limit)
        }
        func failures(now: Int64, limit: Int) async throws -> [FailureRecord] {
            try await records.failures(now: now, limit: limit)
        }
        func removeEnded(now: Int64, limit: Int) async throws {
            try await records.removeEnded(now: now, limit: limit)
        }
    }

    @Test("As much is written for a failure whether it is known whose the name is or not")
    func writes() async throws {
        let records = CountedWrites(try store())
        let limits = limits(records)
        try await fail(limits, signIn("nobody@example.com"))
        var admitted = try await limits.admit(signIn())
        #expect(await limits.identify(&admitted, signIn(), as: "user-1") == nil)
        #expect(!(await limits.failed(admitted)))
        #expect(records.rows == [2, 2])
        for known in [nil, "user-1"] {
            var step = signIn()
            step.unknownStep = ["digest"]
            admitted = try await limits.admit(step)
            _ = await limits.identify(&admitted, step, as: known)
            _ = await limits.failed(admitted)
        }
        #expect(records.rows == [2, 2, 5, 5])
    }

    @Test("Both count: what a name is of, and the name")
    func writtenTogether() async throws {
        let limits = limits(try store())
        var locked: [Bool] = []
        for name in ["ada@example.com", "+15550001", "ada@example.com", "+15550001", "ada@example.com"] {
            var admitted = try await limits.admit(signIn(name))
            #expect(await limits.identify(&admitted, signIn(name), as: "user-1") == nil)
            locked.append(await limits.failed(admitted))
        }
        #expect(locked == [false, false, false, false, true])
        var admitted = try await limits.admit(signIn("+15550001"))
        #expect(await limits.identify(&admitted, signIn("+15550001"), as: nil)?.cause == .lockout)
    }

    @Test("A known device is known by another name of the account, before Cognito says whose that is")
    func knownDeviceByAnotherName() async throws {
        let limits = limits(try store())
        let phone = signIn(device: "phone-1")
        await limits.succeeded(try await limits.admit(phone), phone, as: "user-1")
        for _ in 0..<5 {
            var admitted = try await limits.admit(signIn())
            _ = await limits.identify(&admitted, signIn(), as: "user-1")
            _ = await limits.failed(admitted)
        }
        for (name, account) in [("+15550001", "user-1"), ("+15550001", nil)] as [(String, String?)] {
            for (device, isOpen) in [("phone-1", true), ("phone-2", false), (nil, false)] as [(String?, Bool)] {
                let call = signIn(name, device: device)
                var admitted = try await limits.admit(call)
                #expect((await limits.identify(&admitted, call, as: account) == nil) == isOpen, "\(account ?? "-")")
                limits.ended(admitted)
            }
        }
    }

    // MARK: Steps that nobody knows the beginning of

    func step(_ account: String, shows: String = "digest", from address: String = "192.0.2.1") -> LimitedCall {
        var call = signIn(account, device: "phone-1", from: address)
        call.unknownStep = [shows]
        return call
    }

    @Test("Guesses in unknown steps are counted by where they come from, whatever name is in them")
    func unknownStepsByAddress() async throws {
        let limits = limits(try store())
        for number in 0..<5 {
            try await fail(limits, step("made-up-\(number)", shows: "s\(number)", from: "2001:db8::1"))
        }
        #expect(await reached(limits, step("made-up-9", shows: "s9", from: "2001:db8::2")) == .lockout)
        #expect(await reached(limits, step("made-up-9", shows: "s9", from: "2001:db8:1::1")) == nil)
        // Sign-ins that begin here are another matter.
        #expect(await reached(limits, signIn("made-up-9", from: "2001:db8::1")) == nil)
    }

    @Test("Guesses in one unknown step are counted together, wherever they come from")
    func unknownStepsByStep() async throws {
        let limits = limits(try store())
        for number in 0..<5 { try await fail(limits, step("made-up-\(number)", from: "192.0.2.\(number)")) }
        #expect(await reached(limits, step("made-up-9", from: "198.51.100.1")) == .lockout)
    }

    @Test("An unknown step proves no device, and its success makes no room for further guesses")
    func unknownSuccess() async throws {
        let limits = limits(try store())
        try await succeed(limits, signIn(device: "phone-1"))
        for round in 0..<5 {
            // The device has a lock of its own in what is known, and none here.
            try await fail(limits, step("ada@example.com", shows: "s\(round)", from: "192.0.2.\(round)"))
            let mine = step("ada@example.com", shows: "mine\(round)", from: "198.51.100.\(round)")
            guard round < 4 else { break }
            await limits.succeeded(try await limits.admit(mine), mine, as: "user-of-eve")
        }
        #expect(await reached(limits, step("ada@example.com", shows: "s9", from: "203.0.113.1")) == .lockout)
    }

    @Test(
        "Nothing is learnt from the name in an unknown step, and the account that it claims is locked with the others")
    func unknownClaims() async throws {
        let limits = limits(try store())
        var admitted = try await limits.admit(signIn())
        _ = await limits.identify(&admitted, signIn(), as: "user-1")
        limits.ended(admitted)
        // A claim takes the place of what is known about nobody.
        let claim = step("ada@example.com", from: "203.0.113.1")
        admitted = try await limits.admit(claim)
        _ = await limits.identify(&admitted, claim, as: "claimed: ada@example.com")
        limits.ended(admitted)
        for number in 0..<5 {
            let name = "+1555000\(number)"
            admitted = try await limits.admit(signIn(name))
            _ = await limits.identify(&admitted, signIn(name), as: "user-1")
            _ = await limits.failed(admitted)
        }
        admitted = try await limits.admit(signIn())
        #expect(await limits.identify(&admitted, signIn(), as: nil)?.cause == .lockout)
        limits.ended(admitted)
        // Under Cognito's own name it is locked as well, and says so to nobody who has not proven a password.
        let direct = step("typed: user-1", shows: "another", from: "203.0.113.2")
        admitted = try await limits.admit(direct)
        #expect(await limits.identify(&admitted, direct, as: "user-1")?.cause == .lockout)
    }

    struct BrokenRecords: LimitRecords {
        struct Broken: Error {}
        var areShared = false
        func add(_ counts: [CountRecord]) async throws -> [Int64] { throw Broken() }
        func addFailures(of keys: [String], at milliseconds: Int64, endsAt: Int64) async throws -> [FailureRecord] {
            throw Broken()
        }
        func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord {
            throw Broken()
        }
        func remember(device key: String, endsAt: Int64) async throws { throw Broken() }
        func standing(ofDevice device: String?, failures keys: [String], now: Int64) async throws -> LimitStanding {
            throw Broken()
        }
        func counts(now: Int64, limit: Int) async throws -> [CountRecord] { throw Broken() }
        func failures(now: Int64, limit: Int) async throws -> [FailureRecord] { throw Broken() }
        func removeEnded(now: Int64, limit: Int) async throws { throw Broken() }
    }

    @Test("Without its store the limits hold all the same, and the log says so")
    func brokenStore() async throws {
        let log = CapturedLog()
        let limits = limits(BrokenRecords(), [.codes: BudgetLimits(address: RateLimit(1, per: 60))], log: log)
        try await fail(limits, signIn(device: "phone-1"), times: 5)
        #expect(await reached(limits, signIn()) == .lockout)
        let code = LimitedCall(budget: .codes, account: nil, clientAddress: "192.0.2.1")
        #expect(await reached(limits, code) == nil)
        #expect(await reached(limits, code) == .address)
        #expect(log.lines.contains { $0.contains("in memory only") })
        #expect(!log.lines.joined().contains("ada@"))
    }

    @Test("Counts that cannot be written are written with the next ones, unless they have ended")
    func failedWrite() async throws {
        let records = CountedWrites(try store())
        let limits = limits(records, [.codes: BudgetLimits(address: RateLimit(9, per: 60))])
        let call = LimitedCall(budget: .codes, account: nil, clientAddress: "192.0.2.1")
        #expect(await reached(limits, call) == nil)
        records.isBroken.withLock { $0 = true }
        await #expect(throws: BrokenRecords.Broken.self) { try await limits.write() }
        #expect(await reached(limits, call) == nil)
        await #expect(throws: BrokenRecords.Broken.self) { try await limits.write() }
        records.isBroken.withLock { $0 = false }
        try await limits.write()
        #expect(try await records.counts(now: 0, limit: 9).map(\.count) == [2])

        records.isBroken.withLock { $0 = true }
        #expect(await reached(limits, call) == nil)
        clock.advance(seconds: 180)
        await #expect(throws: BrokenRecords.Broken.self) { try await limits.write() }
        records.isBroken.withLock { $0 = false }
        try await limits.write()
        #expect(try await records.counts(now: 0, limit: 9).map(\.count) == [2])
    }

    /// The seconds until a sign-in may be tried; 0 for one that is let through.
    private func wait(_ limits: AccountLimits) async -> Int {
        do {
            limits.ended(try await limits.admit(signIn()))
            return 0
        } catch {
            return error.retryAfter
        }
    }

    @Test(
        "A restart neither ends a lock nor begins it anew where the clock was wrong at the start before",
        arguments: [-7200, 40 * 86_400] as [Int64])
    func wrongClockAtStart(error: Int64) async throws {
        let store = try store()
        func process() -> AccountLimits {
            limits(TimeOfDayLimits(store, steady: clock.ofProcess()) { [clock] in clock.now })
        }
        clock.set(error: error)
        let first = process()
        clock.set(error: 0)
        try await fail(first, signIn(), times: 5)
        clock.advance(seconds: 10)
        #expect(await wait(first) == 20)
        let second = process()
        try await second.load()
        #expect(await wait(second) == 20)
        try await second.removeEnded()
        let third = process()
        try await third.load()
        #expect(await wait(third) == 20)
        clock.advance(seconds: 20)
        #expect(await wait(third) == 0)
    }

    @Test("Calls that are counted while a stop meets a write are written as well", .timeLimit(.minutes(10)))
    func stopDuringWrite() async throws {
        let (began, begins) = AsyncStream<Void>.makeStream()
        let (held, release) = AsyncStream<Void>.makeStream()
        let records = CountedWrites(try store()) {
            begins.yield()
            for await _ in held {}
        }
        let limits = limits(records, [.codes: BudgetLimits(address: RateLimit(9, per: 60))])
        let call = LimitedCall(budget: .codes, account: nil, clientAddress: "192.0.2.1")
        #expect(await reached(limits, call) == nil)
        let running = Task { await limits.run() }
        for await _ in began { break }
        #expect(await reached(limits, call) == nil)
        running.cancel()
        release.finish()
        await running.value
        #expect(try await records.counts(now: 0, limit: 9).map(\.count) == [2])
    }

    @Test("While counts cannot be written, no more wait than there may be keys")
    func manyUnwritten() {
        var settings = AccountLimitSettings()
        settings.maximumKeys = 8
        var state = LimitState(settings)
        func record(_ number: Int) -> CountRecord {
            CountRecord(key: "k\(number)", window: 7, count: Int64(number), endsAt: 100)
        }
        state.putBack((1...6).map(record), at: 99_000)
        state.putBack((5...12).map(record), at: 99_000)
        let counts = state.takeUnwritten().map(\.count).sorted()
        #expect(counts == [1, 2, 3, 4, 7, 8, 10, 12])
        state.putBack([record(1)], at: 100_000)
        #expect(state.takeUnwritten().isEmpty)
    }

    /// Nil for a call that is taken; then it was a wrong guess.
    private func refusal(_ limits: AccountLimits, _ call: AccountCall) async -> Refusal? {
        do throws(Refusal) {
            let admission = try await limits.admission(of: call)
            _ = await admission.failed()
            return nil
        } catch {
            return error
        }
    }

    @Test("Where others count as well, a guess is not taken while what they have counted cannot be read")
    func brokenSharedStore() async {
        let limits = limits(BrokenRecords(areShared: true))
        var call = AccountCall(Fixture.login(), poolID: Fixture.poolID)
        call.account = Fixture.email
        for _ in 0..<20 {
            let refusal = await refusal(limits, call)
            #expect(refusal?.error == .serviceUnavailable && refusal?.headers[.retryAfter] == "5")
        }
        #expect(await reached(limits, LimitedCall(call)) == nil, "a call that was not taken counts nothing")
        #expect(await refusal(self.limits(BrokenRecords()), call) == nil)
    }

    @Test("What has ended is removed from the store, and beyond the limit what ends soonest")
    func upkeep() async throws {
        let store = try store()
        let records = (0..<20).map { CountRecord(key: "k\($0)", window: 1, count: 1, endsAt: Int64(100 + $0)) }
        _ = try await store.add(records)
        try await store.removeEnded(now: 105, limit: 10)
        let left = try await store.counts(now: 0, limit: 99)
        #expect(Set(left.map(\.key)) == Set((10..<20).map { "k\($0)" }))
    }
}
