import Encoding
import NIOCore
import Pipeline
import Synchronization
import Testing

@testable import HTTPClient
@testable import Upstream

/// Failures of requests that have nothing in common.
private func failure(_ number: UInt64) -> ServerFailure {
    .ofRequest(RequestTraits(path: number, client: number))
}

@Suite("A server's state")
struct ServerStateTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private static let policy = EjectionPolicy(
        after: 3, first: .seconds(10), longest: .seconds(30), slowReturn: .seconds(20))

    private func at(_ seconds: Int64) -> NIODeadline { Self.start + .seconds(seconds) }

    /// Fails until it is ejected.
    private func eject(_ state: inout ServerState, at seconds: Int64) {
        for number in 0..<3 where state.failed(failure(UInt64(number))) { state.eject(at: at(seconds)) }
        #expect(!state.takesRequests)
    }

    @Test("Failures in a row suffice, and a success between them begins the count anew")
    func inARow() {
        var state = ServerState(Self.policy)
        #expect(state.failed(failure(0)) == false)
        #expect(state.failed(failure(1)) == false)
        #expect(state.remembersFailures)
        state.succeeded()
        #expect(!state.remembersFailures)
        #expect(state.failed(failure(2)) == false)
        #expect(state.failed(failure(3)) == false)
        #expect(state.failed(failure(4)) == true)
        state.eject(at: at(0))
        #expect(!state.takesRequests)
        #expect(state.ejectedUntil == at(10))
        // Failures after that are of requests that were under way before.
        #expect(state.failed(.unreachable) == false)
    }

    @Test(
        "Requests for one path, or of one client, do not suffice, however many they are",
        arguments: [(1, 1, false), (1, 9, false), (9, 1, false), (2, 2, true), (9, 9, true)] as [(UInt64, UInt64, Bool)]
    )
    func alike(paths: UInt64, clients: UInt64, suffices: Bool) {
        var state = ServerState(Self.policy)
        let results = (0..<100).map { number in
            state.failed(.ofRequest(RequestTraits(path: number % paths, client: number % clients)))
        }
        #expect(results.contains(true) == suffices)
    }

    @Test("They do where that is set")
    func alone() {
        var policy = Self.policy
        (policy.paths, policy.clients) = (1, 1)
        var state = ServerState(policy)
        let results = (0..<3).map { _ in state.failed(failure(7)) }
        #expect(results == [false, false, true])
    }

    @Test("Connections that fail suffice whoever wanted them", arguments: [ServerFailure.unreachable, .slowToConnect])
    func unreachable(failure: ServerFailure) {
        var state = ServerState(Self.policy)
        let results = (0..<3).map { _ in state.failed(failure) }
        #expect(results == [false, false, true])
    }

    @Test("It comes back slowly")
    func slowly() {
        var state = ServerState(Self.policy)
        eject(&state, at: 0)
        let shares = [0, 9, 10, 15, 20, 29, 30, 100].map { state.share(at: at($0)) }
        #expect(shares == [0, 0, 10, 25, 50, 95, 100, 100])
    }

    @Test("Without a slow return it has its share at once")
    func atOnce() {
        var policy = Self.policy
        policy.slowReturn = .zero
        var state = ServerState(policy)
        eject(&state, at: 0)
        let shares = [9, 10].map { state.share(at: at($0)) }
        #expect(shares == [0, 100])
    }

    @Test("The first failed connection after its return suffices; each ejection is twice as long, up to the longest")
    func grows() {
        var state = ServerState(Self.policy)
        eject(&state, at: 0)
        for (returns, ends) in [(11, 31), (32, 62), (63, 93)] as [(Int64, Int64)] {
            #expect(state.share(at: at(returns)) > 0)
            #expect(state.failed(.unreachable) == true)
            state.eject(at: at(returns))
            #expect(state.ejectedUntil == at(ends))
        }
    }

    @Test("The first failed request after its return does not suffice")
    func probation() {
        var state = ServerState(Self.policy)
        eject(&state, at: 0)
        #expect(state.share(at: at(11)) > 0)
        let results = ([0, 1, 2] as [UInt64]).map { state.failed(failure($0)) }
        #expect(results == [false, false, true])
    }

    @Test("A success after its return makes it an ordinary one, and a long good time forgets how often it failed")
    func forgets() {
        var state = ServerState(Self.policy)
        eject(&state, at: 0)
        #expect(state.share(at: at(10)) > 0)
        state.succeeded()
        #expect(state.failed(.unreachable) == false)
        state.succeeded()
        #expect(state.share(at: at(41)) == 100)
        #expect(!state.isInTransition)
        eject(&state, at: 50)
        #expect(state.ejectedUntil == at(60))
    }

    @Test("With no limit nothing suffices")
    func never() {
        var policy = Self.policy
        policy.after = 0
        var state = ServerState(policy)
        for number in 0..<100 { #expect(state.failed(failure(UInt64(number))) == false) }
        #expect(state.failed(.unreachable) == false)
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
        eject(&state, at: 0)
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

@Suite("The queue of requests")
struct RequestQueueTests {
    private final class Guest {}
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("First come, first served; beyond its length nobody is taken")
    func order() {
        var queue = RequestQueue<Guest>(capacity: 2, timeout: .seconds(1))
        let guests = (0..<3).map { _ in Guest() }
        let taken = guests.map { queue.add($0, at: Self.start) }
        #expect(taken == [true, true, false])
        #expect(queue.takeFirst() === guests[0])
        #expect(queue.add(guests[2], at: Self.start) == true)
        #expect(queue.takeFirst() === guests[1])
        #expect(queue.takeFirst() === guests[2])
        #expect(queue.takeFirst() == nil)
    }

    @Test("Who leaves is passed over, and makes room")
    func leaving() {
        var queue = RequestQueue<Guest>(capacity: 2, timeout: .seconds(1))
        let guests = (0..<3).map { _ in Guest() }
        for guest in guests.prefix(2) { _ = queue.add(guest, at: Self.start) }
        queue.remove(guests[0])
        queue.remove(guests[0])
        #expect(queue.count == 1)
        #expect(queue.add(guests[2], at: Self.start) == true)
        let all = queue.takeAll()
        #expect(all.elementsEqual(guests.dropFirst(), by: ===))
        #expect(queue.isEmpty)
    }

    @Test("Whose time is over is taken out")
    func expiry() {
        var queue = RequestQueue<Guest>(capacity: 10, timeout: .seconds(2))
        let guests = (0..<4).map { _ in Guest() }
        for (second, guest) in guests.enumerated() {
            _ = queue.add(guest, at: Self.start + .seconds(Int64(second)))
        }
        queue.remove(guests[0])
        let expired = queue.takeExpired(at: Self.start + .seconds(3))
        #expect(expired.elementsEqual(guests[1...1], by: ===))
        let further = queue.takeExpired(at: Self.start + .seconds(3))
        #expect(further.isEmpty)
        #expect(queue.takeFirst() === guests[2])
    }

    @Test("Elements that leave behind one that waits take no memory, nor time of those that leave later")
    func leavingBehind() {
        var queue = RequestQueue<Guest>(capacity: 10, timeout: .seconds(5))
        let first = Guest()
        _ = queue.add(first, at: Self.start)
        for _ in 0..<50_000 {
            let guest = Guest()
            #expect(queue.add(guest, at: Self.start) == true)
            queue.remove(guest)
            queue.remove(Guest())
        }
        #expect(queue.storedCount < 100)
        let (second, third) = (Guest(), Guest())
        for guest in [second, third] { _ = queue.add(guest, at: Self.start) }
        queue.remove(second)
        #expect(queue.takeFirst() === first && queue.takeFirst() === third && queue.isEmpty)
    }

    @Test("A line that is used for long stays short")
    func long() {
        var queue = RequestQueue<Guest>(capacity: 3, timeout: .seconds(1))
        for _ in 0..<2 { _ = queue.add(Guest(), at: Self.start) }
        for _ in 0..<10_000 {
            #expect(queue.add(Guest(), at: Self.start) == true)
            #expect(queue.takeFirst() != nil)
        }
        #expect(queue.count == 2)
        #expect(queue.storedCount < 200)
    }
}
