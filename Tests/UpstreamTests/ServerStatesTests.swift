import NIOCore
import Pipeline
import Testing

@testable import Upstream

@Suite("The states of an upstream's servers")
struct ServerStatesTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func at(_ seconds: Int64) -> NIODeadline { Self.start + .seconds(seconds) }

    private func serving(_ states: inout ServerStates, of count: Int, at seconds: Int64 = 1) -> [Int] {
        (0..<count).filter { states.share(of: $0, at: at(seconds)) > 0 }
    }

    private func request(_ number: Int) -> ServerFailure {
        .ofRequest(RequestTraits(path: UInt64(number), client: UInt64(number)))
    }

    /// Each server fails each of many requests.
    ///
    /// - Returns: the fewest that served at any time.
    private func failAll(_ states: inout ServerStates, of count: Int, _ failure: (Int) -> ServerFailure) -> Int {
        var fewest = count
        for number in 0..<20 {
            for server in 0..<count {
                _ = states.failed(server, failure(number), at: at(0))
                fewest = min(fewest, serving(&states, of: count).count)
            }
        }
        return fewest
    }

    @Test(
        "Failing requests eject a tenth of the servers, and of few one",
        arguments: [(1, 1), (2, 1), (3, 2), (19, 18), (20, 18), (100, 90)])
    func share(count: Int, left: Int) {
        var states = ServerStates(EjectionPolicy(), count: count)
        #expect(failAll(&states, of: count, request) == left)
    }

    @Test("The share that is set holds, but the last one stays", arguments: [(10, 50, 5), (10, 0, 9), (10, 100, 1)])
    func setShare(count: Int, percent: Int, left: Int) {
        var states = ServerStates(EjectionPolicy(largestShare: percent), count: count)
        // One does well throughout.
        for server in 0..<count - 1 {
            for number in 0..<5 { _ = states.failed(server, request(number), at: at(0)) }
        }
        #expect(serving(&states, of: count).count == left)
    }

    @Test("Connections that are slow to come keep to the share, since that may come of too many requests")
    func slow() {
        var states = ServerStates(EjectionPolicy(), count: 10)
        #expect(failAll(&states, of: 10) { _ in .slowToConnect } == 9)
    }

    @Test("Servers that refuse connections are ejected beyond the share, but for the last one")
    func unreachable() {
        var states = ServerStates(EjectionPolicy(after: 2), count: 4)
        for server in 0..<3 {
            for _ in 0..<2 { _ = states.failed(server, .unreachable, at: at(0)) }
        }
        #expect(serving(&states, of: 4) == [3])
        #expect(states.failed(3, .unreachable, at: at(0)) == .stays)
        #expect(serving(&states, of: 4) == [3])
        // The last one fails as well: all are worth a try.
        #expect(states.failed(3, .unreachable, at: at(0)) == .withheld)
        #expect(serving(&states, of: 4) == [0, 1, 2, 3])
        // They are on probation.
        #expect(states.failed(0, .unreachable, at: at(1)) == .ejected)
    }

    @Test("The last one is ejected where that is asked for")
    func lastAskedFor() {
        var states = ServerStates(EjectionPolicy(ejectsLastServer: true), count: 2)
        #expect(failAll(&states, of: 2, request) == 0)
        #expect(serving(&states, of: 2).isEmpty)
        #expect(states.nextReturn == at(10))
        var single = ServerStates(EjectionPolicy(ejectsLastServer: true), count: 1)
        #expect(failAll(&single, of: 1, request) == 0)
    }

    @Test("Where checks or an operator take out the last one, those that are only ejected serve")
    func takenOut() {
        for isDrained in [false, true] {
            var states = ServerStates(EjectionPolicy(), count: 2)
            for number in 0..<5 { _ = states.failed(0, request(number), at: at(0)) }
            #expect(serving(&states, of: 2) == [1])
            let changed =
                isDrained
                ? states.setDrained(true, server: 1, at: at(1)) : states.setHealthy(false, server: 1, at: at(1))
            #expect(changed)
            #expect(serving(&states, of: 2) == [0])
        }
    }

    @Test("One that checks have taken out is not the one that stays")
    func unhealthy() {
        var states = ServerStates(EjectionPolicy(), count: 2)
        _ = states.setHealthy(false, server: 1, at: at(0))
        let verdicts = (0..<5).map { states.failed(0, request($0), at: at(0)) }
        #expect(verdicts == [.stays, .stays, .stays, .stays, .withheld])
        #expect(serving(&states, of: 2) == [0])
    }
}
