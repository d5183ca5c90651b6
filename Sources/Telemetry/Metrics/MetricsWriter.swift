/// A form in which metrics are told: Prometheus' text, or OTLP.
protocol MetricsWriter {
    /// Begins a metric. Its samples must follow before the next one begins.
    mutating func begin(_ metric: Metric)

    /// A sample of the metric that has begun.
    ///
    /// - Parameters:
    ///   - values: one for each of the metric's labels.
    ///   - value: a decimal number.
    mutating func sample(_ metric: Metric, _ values: [String], _ value: String)

    /// The samples of a histogram, which has begun, for one value of each of its labels.
    ///
    /// - Parameters:
    ///   - values: one for each of the metric's labels.
    ///   - limits: the upper ones, in ascending order.
    ///   - counts: one for each limit and one for what is above the last; not cumulative.
    mutating func histogram(
        _ metric: Metric, _ values: [String], limits: [String], counts: some Sequence<Int64>, sum: String)
}

extension MetricsWriter {
    /// One sample for each value of the metric's label, with the last place called `other`.
    mutating func family(_ metric: Metric, _ values: [String], other: String? = nil, _ counts: [Int64]) {
        begin(metric)
        for (value, count) in zip(values + (other.map { [$0] } ?? []), counts) {
            sample(metric, [value], String(count))
        }
    }

    /// A metric without labels.
    mutating func single(_ metric: Metric, _ value: Int64) { single(metric, String(value)) }

    mutating func single(_ metric: Metric, _ value: String) {
        begin(metric)
        sample(metric, [], value)
    }

    /// Microseconds as decimal seconds, without the rounding of binary fractions.
    static func seconds(microseconds: Int64) -> String {
        let fraction = String(microseconds.magnitude % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - fraction.count)
        return "\(microseconds < 0 ? "-" : "")\(microseconds.magnitude / 1_000_000).\(zeros)\(fraction)"
    }
}
