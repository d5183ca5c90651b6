/// Prometheus' text format 0.0.4.
struct PrometheusText: MetricsWriter {
    /// The `Content-Type` of a response in this format.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    mutating func begin(_ metric: Metric) {
        text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
    }

    mutating func sample(_ metric: Metric, _ values: [String], _ value: String) {
        assert(values.count == metric.labels.count, "\(metric.name) has other labels")
        line(metric.name, zip(metric.labels, values).map { ($0, $1) }, value)
    }

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
