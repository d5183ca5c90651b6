/// Prometheus' text format 0.0.4.
struct PrometheusText {
    /// The `Content-Type` of a response in this format.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String {
        case counter, gauge, histogram
    }

    private(set) var text = ""

    /// Begins a metric. Its samples must follow before the next one begins.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [(name: String, value: String)] = [], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    /// One sample for each value of a label, with the last place called `other`.
    mutating func family(
        _ name: String, _ help: String, label: String, values: [String], other: String?, _ counts: [Int64]
    ) {
        metric(name, .counter, help)
        for (value, count) in zip(values + (other.map { [$0] } ?? []), counts) {
            sample(name, [(label, value)], String(count))
        }
    }

    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
        metric(name, kind, help)
        sample(name, [], String(value))
    }

    /// One label set's samples of a histogram, whose metric has begun.
    ///
    /// - Parameters:
    ///   - limits: the upper ones, in ascending order.
    ///   - counts: one for each limit and one for what is above the last; not cumulative.
    mutating func histogram(
        _ name: String, _ label: (name: String, value: String), limits: [String], counts: some Sequence<Int64>,
        sum: String
    ) {
        var total: Int64 = 0
        for (limit, count) in zip(limits + ["+Inf"], counts) {
            total += count
            sample("\(name)_bucket", [label, ("le", limit)], String(total))
        }
        sample("\(name)_sum", [label], sum)
        sample("\(name)_count", [label], String(total))
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
