import Encoding
import NIOCore
import Synchronization
import Testing

@testable import Upstream

@Suite("A server's state")
struct ServerStateTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let policy = EjectionPolicy(
        after: 3, first: .seconds(10), longest: .seconds(30), slowReturn: .seconds(20))

    private func at(_ seconds: Int64) -> NIODeadline { Self.start + .seconds(seconds) }

    /// Fails until it is ejected.
    private func eject(_ state: inout ServerState, at seconds: Int64) -> Bool {
        (0..<3).map { _ in state.failed(at: at(seconds)) }.last ?? false
    }

    @Test("Failures in a row eject, and a success between them begins the count anew")
    func inARow() {
        var state = ServerState(Self.policy)
        #expect(state.failed(at: at(0)) == false)
        #expect(state.failed(at: at(0)) == false)
        #expect(state.remembersFailures)
        state.succeeded()
        #expect(!state.remembersFailures)
        #expect(state.failed(at: at(0)) == false)
        #expect(state.failed(at: at(0)) == false)
        #expect(state.failed(at: at(0)) == true)
        #expect(!state.takesRequests)
        #expect(state.returnsAt == at(10))
        // What fails afterwards was under way before.
        #expect(state.failed(at: at(1)) == false)
    }

    @Test("It comes back slowly")
    func slowly() {
        var state = ServerState(Self.policy)
        _ = eject(&state, at: 0)
        let shares = [0, 9, 10, 15, 20, 29, 30, 100].map { state.share(at: at($0)) }
        #expect(shares == [0, 0, 10, 25, 50, 95, 100, 100])
    }

    @Test("Without a slow return it has its share at once")
    func atOnce() {
        var policy = Self.policy
        policy.slowReturn = .zero
        var state = ServerState(policy)
        _ = eject(&state, at: 0)
        let shares = [9, 10].map { state.share(at: at($0)) }
        #expect(shares == [0, 100])
    }

    @Test("The first failure after its return ejects it again, for twice as long, up to the longest time")
    func grows() {
        var state = ServerState(Self.policy)
        _ = eject(&state, at: 0)
        #expect(state.share(at: at(11)) > 0)
        #expect(state.failed(at: at(11)) == true)
        #expect(state.returnsAt == at(31))
        #expect(state.share(at: at(32)) > 0)
        #expect(state.failed(at: at(32)) == true)
        #expect(state.returnsAt == at(62))
        #expect(state.share(at: at(63)) > 0)
        #expect(state.failed(at: at(63)) == true)
        #expect(state.returnsAt == at(93))
    }

    @Test("A success after its return makes it an ordinary one, and a long good time forgets how often it failed")
    func forgets() {
        var state = ServerState(Self.policy)
        _ = eject(&state, at: 0)
        #expect(state.share(at: at(10)) > 0)
        state.succeeded()
        #expect(state.failed(at: at(12)) == false)
        state.succeeded()
        #expect(state.share(at: at(41)) == 100)
        #expect(!state.isInTransition)
        let ejected = eject(&state, at: 50)
        #expect(ejected)
        #expect(state.returnsAt == at(60))
    }

    @Test("With no limit nothing ejects")
    func never() {
        var policy = Self.policy
        policy.after = 0
        var state = ServerState(policy)
        for _ in 0..<100 { #expect(state.failed(at: at(0)) == false) }
        #expect(state.share(at: at(0)) == 100)
    }

    @Test("What checks find unhealthy takes nothing until they find it healthy")
    func checks() {
        var state = ServerState(Self.policy)
        #expect(state.setHealthy(true, at: at(0)) == false)
        #expect(state.setHealthy(false, at: at(0)) == true)
        #expect(state.share(at: at(1000)) == 0)
        #expect(state.setHealthy(true, at: at(1000)) == true)
        #expect(state.share(at: at(1000)) == 10)
        #expect(state.share(at: at(1010)) == 50)
        #expect(state.share(at: at(1031)) == 100)
    }

    @Test("A server that checks find healthy again is no longer ejected")
    func checksEndEjection() {
        var state = ServerState(Self.policy)
        _ = eject(&state, at: 0)
        _ = state.setHealthy(false, at: at(1))
        _ = state.setHealthy(true, at: at(2))
        #expect(state.takesRequests)
    }

    @Test(
        "Checks change a server's health when enough of them in a row agree",
        arguments: [
            ("", true), ("bb", true), ("bbb", false), ("bbgbb", true), ("bbbg", false), ("bbbgg", true),
            ("bbbgbg", false), ("bbbggbb", true),
        ])
    func health(_ checks: String, _ expected: Bool) {
        var state = HealthState(healthyAfter: 2, unhealthyAfter: 3)
        var told = true
        for check in checks where state.checked(isGood: check == "g") { told = state.isHealthy }
        #expect(state.isHealthy == expected)
        #expect(told == expected, "each change is told once")
    }
}

@Suite("Health checks")
struct HealthCheckerTests {
    /// Gives the statuses of a list, the last one for ever.
    private actor Statuses: Fetcher {
        private var statuses: [Int]
        init(_ statuses: [Int]) { self.statuses = statuses }

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            FetchResponse(status: statuses.count > 1 ? statuses.removeFirst() : statuses[0], headers: [], body: [])
        }
    }

    @Test(
        "A server that is known to be unwell is told only when it is well, and one that is well only when it is not",
        arguments: [
            (true, [200, 500, 500], [false]), (false, [500, 500, 500], []), (false, [500, 200, 200], [true]),
            (true, [200, 200, 200], []),
        ] as [(Bool, [Int], [Bool])])
    func known(wasHealthy: Bool, statuses: [Int], expected: [Bool]) async {
        let told = Mutex<[Bool]>([])
        let rounds = Mutex(statuses.count)
        await HealthChecker(
            server: UpstreamServer(url: "http://server"),
            settings: HealthCheckSettings(path: "/", healthyAfter: 2, unhealthyAfter: 2), wasHealthy: wasHealthy,
            fetcher: Statuses(statuses),
            sleep: { _ in
                let isOver = rounds.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isOver { throw CancellationError() }
            },
            publish: { isHealthy, _ in told.withLock { $0.append(isHealthy) } }
        ).run()
        #expect(told.withLock { $0 } == expected)
    }
}

@Suite("The retry budget")
struct RetryBudgetTests {
    @Test("After what was saved is spent, a tenth of the requests may be retried")
    func tenth() {
        var budget = RetryBudget(percent: 10)
        let saved = (0..<20).count { _ in budget.takeRetry() }
        #expect(saved == 10)
        var retries = 0
        for _ in 0..<1000 {
            budget.requestBegan()
            if budget.takeRetry() { retries += 1 }
        }
        #expect(retries == 100)
    }

    @Test("No more is saved than ten retries")
    func cap() {
        var budget = RetryBudget(percent: 100)
        for _ in 0..<1000 { budget.requestBegan() }
        let saved = (0..<20).count { _ in budget.takeRetry() }
        #expect(saved == 10)
    }

    @Test("No percentage is no retry at all")
    func none() {
        var budget = RetryBudget(percent: 0)
        for _ in 0..<1000 { budget.requestBegan() }
        let isPaid = budget.takeRetry()
        #expect(!isPaid)
    }
}

@Suite("The waiting line")
struct WaitingLineTests {
    private final class Guest {}
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("First come, first served; beyond its length nobody is taken")
    func order() {
        var line = WaitingLine<Guest>(capacity: 2, patience: .seconds(1))
        let guests = (0..<3).map { _ in Guest() }
        let taken = guests.map { line.add($0, at: Self.start) }
        #expect(taken == [true, true, false])
        #expect(line.takeFirst() === guests[0])
        #expect(line.add(guests[2], at: Self.start) == true)
        #expect(line.takeFirst() === guests[1])
        #expect(line.takeFirst() === guests[2])
        #expect(line.takeFirst() == nil)
    }

    @Test("Who leaves is passed over, and makes room")
    func leaving() {
        var line = WaitingLine<Guest>(capacity: 2, patience: .seconds(1))
        let guests = (0..<3).map { _ in Guest() }
        for guest in guests.prefix(2) { _ = line.add(guest, at: Self.start) }
        line.remove(guests[0])
        line.remove(guests[0])
        #expect(line.count == 1)
        #expect(line.add(guests[2], at: Self.start) == true)
        let all = line.takeAll()
        #expect(all.elementsEqual(guests.dropFirst(), by: ===))
        #expect(line.isEmpty)
    }

    @Test("Whose time is over is taken out")
    func expiry() {
        var line = WaitingLine<Guest>(capacity: 10, patience: .seconds(2))
        let guests = (0..<4).map { _ in Guest() }
        for (second, guest) in guests.enumerated() {
            _ = line.add(guest, at: Self.start + .seconds(Int64(second)))
        }
        line.remove(guests[0])
        let expired = line.takeExpired(at: Self.start + .seconds(3))
        #expect(expired.elementsEqual(guests[1...1], by: ===))
        let further = line.takeExpired(at: Self.start + .seconds(3))
        #expect(further.isEmpty)
        #expect(line.takeFirst() === guests[2])
    }

    @Test("A line that is used for long stays short")
    func long() {
        var line = WaitingLine<Guest>(capacity: 3, patience: .seconds(1))
        for _ in 0..<2 { _ = line.add(Guest(), at: Self.start) }
        for _ in 0..<10_000 {
            #expect(line.add(Guest(), at: Self.start) == true)
            #expect(line.takeFirst() != nil)
        }
        #expect(line.count == 2)
        #expect(line.storedCount < 200)
    }
}
