/// Durations counted by fixed limits, from half a millisecond to half a minute.
struct DurationHistogram: Sendable {
    /// Upper limits in microseconds; the text is the `le` label in seconds.
    static let limits: [(microseconds: Int64, seconds: String)] = [
        (500, "0.0005"), (1000, "0.001"), (2500, "0.0025"), (5000, "0.005"), (10_000, "0.01"), (25_000, "0.025"),
        (50_000, "0.05"), (100_000, "0.1"), (250_000, "0.25"), (500_000, "0.5"), (1_000_000, "1"),
        (2_500_000, "2.5"), (5_000_000, "5"), (10_000_000, "10"), (30_000_000, "30"),
    ]

    /// One for each limit, and one for what is above the last.
    private let counts = CounterFamily(count: Self.limits.count + 1)
    private let sum = Counter()

    func observe(microseconds: Int64) {
        counts.add(at: Self.limits.firstIndex { microseconds <= $0.microseconds } ?? Self.limits.count)
        sum.add(microseconds)
    }

    /// What several event loops have counted together.
    struct Snapshot {
        /// Not cumulative; the last is above all limits.
        var counts: [Int64]
        var sumMicroseconds: Int64
    }

    static func sum(_ histograms: some Sequence<DurationHistogram>) -> Snapshot {
        var snapshot = Snapshot(counts: Array(repeating: 0, count: limits.count + 1), sumMicroseconds: 0)
        for histogram in histograms {
            for (index, count) in histogram.counts.values.enumerated() {
                snapshot.counts[index] += count
            }
            snapshot.sumMicroseconds += histogram.sum.value
        }
        return snapshot
    }
}
