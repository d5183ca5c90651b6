internal import Glibc

/// The CPU time of the calling thread, so that a busy machine lengthens nothing but the wait.
enum ThreadClock {
    static func microseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}

/// One thing measured: its microseconds an operation, round by round.
final class Measurement {
    let name: String
    private var rounds: [Double] = []
    /// How many operations did not give what they should have.
    private(set) var failures = 0

    init(_ name: String) { self.name = name }

    /// Adds a round: `body` once for each element, which says whether it went as it should.
    func round<Element>(of elements: ArraySlice<Element>, _ body: (Element) -> Bool) {
        let start = ThreadClock.microseconds()
        for element in elements where !body(element) { failures += 1 }
        rounds.append((ThreadClock.microseconds() - start) / Double(elements.count))
    }

    var median: Double { Self.median(rounds) }

    /// The median of the rounds' own ratios: what slows the machine down for a while slows both.
    func ratio(to other: Measurement) -> Double {
        Self.median(zip(rounds, other.rounds).map { $0 / $1 })
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }
}
