/// An output format for metrics: Prometheus' text, or OTLP.
protocol MetricsWriter {
    /// Begins a metric. Its samples must follow before the next metric begins.
    mutating func begin(_ metric: Metric)

    /// Writes a sample of the current metric.
    ///
    /// - Parameters:
    ///   - values: the label values, one for each of the metric's labels.
    ///   - value: a decimal number.
    mutating func sample(_ metric: Metric, _ values: [String], _ value: String)

    /// Writes a histogram of the current metric for one combination of label values.
    ///
    /// - Parameters:
    ///   - values: the label values, one for each of the metric's labels.
    ///   - limits: the upper limits, in ascending order.
    ///   - counts: one count for each limit and one for values above the last; not cumulative.
    mutating func histogram(
        _ metric: Metric, _ values: [String], limits: [String], counts: some Sequence<Int64>, sum: String)
}

extension MetricsWriter {
    /// Writes a metric with one sample for each value of its label. `other` is the label value of the last count.
    mutating func family(_ metric: Metric, _ values: [String], other: String? = nil, _ counts: [Int64]) {
        begin(metric)
        for (value, count) in zip(values + (other.map { [$0] } ?? []), counts) {
            sample(metric, [value], String(count))
        }
    }

    /// Writes a metric without labels.
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
