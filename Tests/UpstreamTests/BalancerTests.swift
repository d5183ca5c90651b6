import Pipeline
import Testing

@testable import Upstream

@Suite("Sharing out")
struct BalancerTests {
    private static func balancer(_ balance: Balance, _ weights: [Int], capacity: Int = 1000) -> Balancer {
        Balancer(
            balance, servers: weights.enumerated().map { (name: "http://10.0.0.\($0.offset)", weight: $0.element) },
            capacity: capacity)
    }

    @Test(
        "In turn, by weight, and never in bursts",
        arguments: [
            ([1], [0, 0, 0]), ([1, 1], [0, 1, 0, 1]), ([1, 1, 1], [0, 1, 2, 0, 1, 2]),
            ([5, 1, 1], [0, 0, 1, 0, 2, 0, 0]), ([3, 1], [0, 0, 1, 0]),
        ])
    func inTurn(_ weights: [Int], _ expected: [Int]) {
        var balancer = Self.balancer(.roundRobin, weights)
        let picks = expected.map { _ in balancer.pick() }
        #expect(picks == expected)
    }

    @Test("Who takes nothing is passed over, and whose share is small gets little")
    func shares() {
        var balancer = Self.balancer(.roundRobin, [1, 1, 1])
        balancer.setShare(0, of: 1)
        balancer.setShare(10, of: 2)
        let picks = (0..<110).compactMap { _ in balancer.pick() }
        #expect([0, 1, 2].map { server in picks.count { $0 == server } } == [100, 0, 10])
    }

    @Test("Turns go on although shares are set again between them")
    func sharesSetAgain() {
        var balancer = Self.balancer(.roundRobin, [1, 1])
        let picks = (0..<6).map { _ in
            for server in 0...1 { balancer.setShare(100, of: server) }
            return balancer.pick()
        }
        #expect(picks == [0, 1, 0, 1, 0, 1])
    }

    @Test("With nobody to take it there is no pick", arguments: [Balance.roundRobin, .leastRequests, .hashSubject])
    func nobody(_ balance: Balance) {
        for weights in [[1], [1, 1]] {
            var balancer = Self.balancer(balance, weights)
            for server in weights.indices { balancer.setShare(0, of: server) }
            let pick = balancer.pick(subject: "ada")
            #expect(pick == nil)
            #expect(!balancer.hasServer)
        }
    }

    @Test("A full server is passed over until a request has ended", arguments: [Balance.roundRobin, .leastRequests])
    func full(_ balance: Balance) {
        var balancer = Self.balancer(balance, [1, 1], capacity: 1)
        let first = balancer.pick()
        #expect(first == 0)
        balancer.began(on: 0)
        let others = (0..<3).map { _ in balancer.pick() }
        #expect(others == [1, 1, 1])
        balancer.began(on: 1)
        let none = balancer.pick()
        #expect(none == nil)
        #expect(balancer.hasServer)
        #expect(!balancer.hasRoom)
        balancer.ended(on: 0)
        let freed = balancer.pick()
        #expect(freed == 0)
    }

    @Test("A failing server is avoided, also when it is the only one")
    func avoiding() {
        var balancer = Self.balancer(.roundRobin, [1, 1])
        let picks = (0..<4).map { _ in balancer.pick(avoiding: 0) }
        #expect(picks == [1, 1, 1, 1])
        var alone = Self.balancer(.roundRobin, [1])
        let none = alone.pick(avoiding: 0)
        #expect(none == nil)
    }

    @Test("To the least busy for its weight, and in turn among equals")
    func leastBusy() {
        var balancer = Self.balancer(.leastRequests, [1, 1, 2])
        for server in [0, 0, 1, 2, 2] { balancer.began(on: server) }
        // 3/1, 2/1 and 3/2 with the next one.
        let first = balancer.pick()
        #expect(first == 2)
        balancer.began(on: 2)
        let equals = Set((0..<2).compactMap { _ in balancer.pick() })
        #expect(equals == [1, 2])
        var idle = Self.balancer(.leastRequests, [1, 1])
        let both = Set((0..<2).compactMap { _ in idle.pick() })
        #expect(both == [0, 1])
    }

    private static let subjects = (0..<3000).map { "subject-\($0)" }

    @Test("A subject keeps its server, and shares follow weights")
    func bySubject() {
        var balancer = Self.balancer(.hashSubject, [1, 1, 2])
        let first = Self.subjects.map { balancer.pick(subject: $0) }
        let second = Self.subjects.map { balancer.pick(subject: $0) }
        #expect(first == second)
        let counts = [0, 1, 2].map { server in first.count { $0 == server } }
        #expect((500...1000).contains(counts[0]))
        #expect((500...1000).contains(counts[1]))
        #expect((1200...1800).contains(counts[2]))
    }

    @Test("When a server goes only its own subjects move, and they come back")
    func moves() {
        var balancer = Self.balancer(.hashSubject, [1, 1, 1])
        let before = Self.subjects.map { balancer.pick(subject: $0) }
        balancer.setShare(0, of: 1)
        let during = Self.subjects.map { balancer.pick(subject: $0) }
        for (old, new) in zip(before, during) { #expect(old == 1 ? new != 1 : new == old) }
        balancer.setShare(30, of: 1)
        let returning = Self.subjects.map { balancer.pick(subject: $0) }
        let back = zip(before, returning).count { $0 == 1 && $1 == 1 }
        #expect((150...500).contains(back), "about a third of a thousand")
        balancer.setShare(100, of: 1)
        let after = Self.subjects.map { balancer.pick(subject: $0) }
        #expect(before == after)
    }

    @Test("Where a subject goes is the same in every process")
    func stable() {
        // Worked out apart from this: FNV-1a of the text, then SplitMix64's finaliser.
        #expect(StableHash.of("ada") == 0x7D3C_4AD3_72FC_321D)
    }

    @Test("Without a subject it goes in turn")
    func noSubject() {
        var balancer = Self.balancer(.hashSubject, [1, 1])
        let picks = (0..<4).map { _ in balancer.pick() }
        #expect(picks == [0, 1, 0, 1])
    }
}
