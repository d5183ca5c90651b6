import ClockSteps
import Synchronization
import Testing

@testable import Store

@Suite("The clock by which ended rows are removed")
struct PruningClockTests {
    static let hour: Int64 = 3600
    static let day: Int64 = 86_400
    static let start: Int64 = 1_780_000_000

    /// A time of day that a test steps, beside a monotonic clock.
    final class Times: SettableClock {
        private let state = Mutex((day: start, uptime: Int64(1000)))

        var now: Int64 { state.withLock { $0.day } }
        /// As it would be on a clock that nobody has set.
        var right: Int64 { state.withLock { start + $0.uptime - 1000 } }
        var uptime: Int64 { state.withLock { $0.uptime } }

        func pass(_ seconds: Int64) {
            state.withLock { $0 = ($0.day + seconds, $0.uptime + seconds) }
        }

        func step(_ seconds: Int64) { state.withLock { $0.day += seconds } }
        func set(error: Int64) { state.withLock { $0.day = start + $0.uptime - 1000 + error } }
    }

    let times = Times()

    func clock(newest: Int64 = start) -> PruningClock {
        PruningClock(newest: newest) { [times] in times.uptime }
    }

    @Test("It follows a time of day that is right")
    func right() {
        let clock = clock()
        for _ in 0..<100 {
            times.pass(7)
            #expect(clock.time(times.now) == times.now)
        }
    }

    @Test("Of a step ahead it believes no more than as much again as has passed", arguments: [2 * hour, 40 * day])
    func ahead(step: Int64) {
        let clock = clock()
        times.step(step)
        #expect(clock.time(times.now) == Self.start)
        times.pass(600)
        #expect(clock.time(times.now) == Self.start + 1200)
        times.step(-step)
        #expect(clock.time(times.now) == times.now, "and is never ahead of the time of day")
        times.pass(3600)
        #expect(clock.time(times.now) == times.now)
    }

    @Test("Revocations go by no earlier time than the right one, and rotations by that", arguments: ClockSteps.allCases)
    func steps(steps: ClockSteps) async {
        let clock = clock()
        for _ in 0..<3 {
            await times.take(steps) {
                times.pass(60)
                #expect(clock.latest(times.now) == max(times.now, times.right))
                let ahead = clock.believed(times.now) - times.right
                // It creeps while nobody knows whether the clock is right after a long stop.
                #expect(times.now > times.right ? (0...180).contains(ahead) : ahead == 0)
            }
            times.pass(600)
            #expect(clock.latest(times.now) == times.right && clock.believed(times.now) == times.right)
        }
    }

    @Test("A step back is doubted for as long as it was, and a small one not at all")
    func doubted() {
        let clock = clock()
        times.step(-7200)
        for _ in 0..<119 {
            times.pass(60)
            #expect(clock.latest(times.now) == times.right)
        }
        times.pass(120)
        #expect(clock.latest(times.now) == times.now)
        times.step(-60)
        #expect(clock.latest(times.now) == times.now)
    }

    @Test("A step back and forth leaves it where it was")
    func back() {
        let clock = clock()
        times.step(-2 * Self.hour)
        #expect(clock.time(times.now) == times.now)
        times.pass(60)
        #expect(clock.time(times.now) == times.now)
        times.step(2 * Self.hour)
        #expect(clock.time(times.now) == times.now)
    }

    @Test("After a long stop it catches up within as much time again")
    func stopped() {
        let clock = clock(newest: Self.start - Self.day)
        #expect(clock.time(times.now) == Self.start - Self.day)
        times.pass(Self.day / 2)
        #expect(clock.time(times.now) == Self.start)
        times.pass(Self.day / 2)
        #expect(clock.time(times.now) == times.now)
    }

    @Test("What was believed last is kept for the next process; a later one of another process stays")
    func kept() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let first = try GatewayStore.open(in: fixture.directory, now: Self.start)
        let second = try GatewayStore.open(in: fixture.directory, now: Self.start + 60)
        try await second.keepPruningClock(now: Self.start + 60)
        try await first.keepPruningClock(now: Self.start)
        try first.close()
        try second.close()
        let next = try GatewayStore.open(in: fixture.directory, now: Self.start + 40 * Self.day)
        // The test itself may take a second or two.
        #expect((60...70).contains(next.pruningTime(Self.start + 40 * Self.day) - Self.start))
    }

    @Test("A store from before it was kept goes by the latest refresh")
    func earlier() async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        do {
            let store = try GatewayStore.open(in: fixture.directory, now: Self.start)
            var session = StoreFixture.session(1)
            session.refreshedAt = Self.start
            try await StoredSessions(store).begin(session)
        }
        let next = try GatewayStore.open(in: fixture.directory, now: Self.start + 40 * Self.day)
        #expect((0...10).contains(next.pruningTime(Self.start + 40 * Self.day) - Self.start))
    }

    @Test(
        "A start with a clock that is ahead removes nothing that the right one still needs",
        arguments: [true, false])
    func startAhead(isKept: Bool) async throws {
        let fixture = StoreFixture()
        defer { fixture.remove() }
        let ends = Self.start + 30 * Self.day
        do {
            let store = try GatewayStore.open(in: fixture.directory, now: Self.start)
            var session = StoreFixture.session(1, endsAt: ends)
            (session.refreshedAt, session.endedAt) = (Self.start, Self.start)
            try await StoredSessions(store).begin(session)
            try await StoredRevocations(store).keep([StoreFixture.revocation("r", endsAt: ends)])
            #expect(try await StoredUsers(store).spend([7], until: ends, now: Self.start))
            if isKept { try await store.keepPruningClock(now: Self.start) }
        }
        do {
            let now = Self.start + 40 * Self.day
            let store = try await GatewayStore.openToServe(in: fixture.directory, now: now)
            #expect(try await StoredRevocations(store).all(now: now).count == 1, "for when the clock is right")
            try await StoredSessions(store).removeEnded(now: now)
            try await StoredUsers(store).removeEnded(now: now)
            try await StoredRevocations(store).removeEnded(now: now)
            try await StoredSessions(store).begin(StoreFixture.session(2, endsAt: now + 1))
            #expect(try await StoredUsers(store).spend([8], until: now + 1, now: now))
        }
        let store = try GatewayStore.open(in: fixture.directory, now: Self.start)
        #expect(try await StoredSessions(store).session([1])?.endedAt == Self.start)
        #expect(try await StoredRevocations(store).all(now: Self.start).map(\.value) == ["r"])
        #expect(try await !StoredUsers(store).spend([7], until: ends, now: Self.start), "it is spent")
    }
}
