/// A histogram of durations with fixed limits from 0.5 ms to 30 s: a row of counters in a family.
enum DurationHistogram {
    /// Upper limits in microseconds.
    static let limits: [Int64] = [
        500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
        10_000_000, 30_000_000,
    ]
    /// The limits as `le` labels, in seconds.
    static let labels = [
        "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10",
        "30",
    ]
    /// The number of counters in a row: one for each limit, one for durations above the last, and one for the sum in
    /// microseconds.
    static let width = limits.count + 2
}

extension CounterFamily {
    /// Counts a duration in a row of ``DurationHistogram``.
    func observe(microseconds: Int64, row: Int) {
        let place = DurationHistogram.limits.firstIndex { microseconds <= $0 } ?? DurationHistogram.limits.count
        add(at: row * DurationHistogram.width + place)
        add(microseconds, at: (row + 1) * DurationHistogram.width - 1)
    }
}
