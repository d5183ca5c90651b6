/// Prometheus' text format 0.0.4.
struct PrometheusText {
    /// The `Content-Type` of a response in this format.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Begins a metric. Its samples must follow before the next one begins.
    mutating func begin(_ metric: Metric) {
        text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
    }

    /// A sample of the metric that has begun.
    ///
    /// - Parameter values: one for each of the metric's labels.
    mutating func sample(_ metric: Metric, _ values: [String] = [], _ value: String) {
        assert(values.count == metric.labels.count, "\(metric.name) has other labels")
        line(metric.name, zip(metric.labels, values).map { ($0, $1) }, value)
    }

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

    /// The samples of a histogram, which has begun, for one value of each of its labels.
    ///
    /// - Parameters:
    ///   - values: one for each of the metric's labels.
    ///   - limits: the upper ones, in ascending order.
    ///   - counts: one for each limit and one for what is above the last; not cumulative.
    mutating func histogram(
        _ metric: Metric, _ values: [String], limits: [String], counts: some Sequence<Int64>, sum: String
    ) {
        assert(values.count == metric.labels.count, "\(metric.name) has other labels")
        let labels = zip(metric.labels, values).map { (name: $0, value: $1) }
        var total: Int64 = 0
        for (limit, count) in zip(limits + ["+Inf"], counts) {
            total += count
            line("\(metric.name)_bucket", labels + [("le", limit)], String(total))
        }
        line("\(metric.name)_sum", labels, sum)
        line("\(metric.name)_count", labels, String(total))
    }

    private mutating func line(_ name: String, _ labels: [(name: String, value: String)], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    /// Microseconds as decimal seconds, without the rounding of binary fractions.
    static func seconds(microseconds: Int64) -> String {
        let fraction = String(microseconds.magnitude % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - fraction.count)
        return "\(microseconds < 0 ? "-" : "")\(microseconds.magnitude / 1_000_000).\(zeros)\(fraction)"
    }

    private static func escape(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
