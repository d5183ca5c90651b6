/// Encodes metrics in OTLP (opentelemetry-proto 1, metrics/v1), with the same names as in Prometheus' text. Sums and
/// histograms are cumulative since the start of the process.
struct OTLPMetrics: MetricsWriter {
    private let start: UInt64
    private let now: UInt64
    /// The encoded `Metric` fields of `ScopeMetrics`.
    private var metrics: [UInt8] = []
    private var current: Metric?
    /// The encoded data points of `current`, as fields of its kind's message.
    private var points: [UInt8] = []

    /// - Parameters:
    ///   - start: the start of the process in nanoseconds since 1970; 0 if unknown.
    ///   - now: nanoseconds since 1970.
    init(start: Int64, now: Int64) {
        self.start = UInt64(clamping: start)
        self.now = UInt64(clamping: now)
        metrics.reserveCapacity(64 << 10)
    }

    mutating func begin(_ metric: Metric) {
        end()
        current = metric
    }

    mutating func sample(_ metric: Metric, _ values: [String], _ value: String) {
        assert(values.count == metric.labels.count, "\(metric.name) has other labels")
        points.appendMessage(field: 1) { [start, now] point in
            point.appendTimes(start: metric.kind == .gauge ? 0 : start, now: now)
            if let whole = Int64(value) {
                point.appendFixed64(field: 6, UInt64(bitPattern: whole))
            } else {
                point.appendFixed64(field: 4, (Double(value) ?? .nan).bitPattern)
            }
            for (name, value) in zip(metric.labels, values) { point.appendAttribute(field: 7, name, .text(value)) }
        }
    }

    mutating func histogram(
        _ metric: Metric, _ values: [String], limits: [String], counts: some Sequence<Int64>, sum: String
    ) {
        assert(values.count == metric.labels.count, "\(metric.name) has other labels")
        let counts = counts.prefix(limits.count + 1).map { UInt64(clamping: $0) }
        points.appendMessage(field: 1) { [start, now] point in
            point.appendTimes(start: start, now: now)
            let total = counts.reduce(0, &+)
            if total != 0 { point.appendFixed64(field: 4, total) }
            point.appendFixed64(field: 5, (Double(sum) ?? .nan).bitPattern)
            point.appendPacked(field: 6, counts)
            point.appendPacked(field: 7, limits.map { (Double($0) ?? .nan).bitPattern })
            for (name, value) in zip(metric.labels, values) { point.appendAttribute(field: 9, name, .text(value)) }
        }
    }

    private mutating func end() {
        guard let current, !points.isEmpty else { return }
        metrics.appendMessage(field: 2) { [points] metric in
            metric.appendBytes(field: 1, current.name.utf8)
            metric.appendBytes(field: 2, current.help.utf8)
            if let unit = current.unit { metric.appendBytes(field: 3, unit.utf8) }
            metric.appendMessage(field: current.field) { data in
                data.append(contentsOf: points)
                // AGGREGATION_TEMPORALITY_CUMULATIVE
                if current.kind != .gauge { data.appendVarint(field: 2, 2) }
                if current.kind == .counter { data.appendVarint(field: 3, 1) }
            }
        }
        points.removeAll(keepingCapacity: true)
    }

    /// Returns the `ExportMetricsServiceRequest` with all metrics written so far.
    ///
    /// - Parameter attributes: the attributes of the resource.
    mutating func request(attributes: [(name: String, value: String)]) -> [UInt8] {
        end()
        current = nil
        var body: [UInt8] = []
        body.appendMessage(field: 1) { [metrics] body in
            body.appendResource(attributes)
            body.appendMessage(field: 2) { scope in
                scope.appendMessage(field: 1) { $0.appendBytes(field: 1, "gatehouse".utf8) }
                scope.append(contentsOf: metrics)
            }
        }
        return body
    }
}

extension [UInt8] {
    /// Appends the times of a data point. Zero means none and is omitted, as in protobuf.
    fileprivate mutating func appendTimes(start: UInt64, now: UInt64) {
        if start != 0 { appendFixed64(field: 2, start) }
        if now != 0 { appendFixed64(field: 3, now) }
    }
}

extension Metric {
    /// The field of OTLP's `Metric` for metrics of its kind.
    fileprivate var field: UInt8 {
        switch kind {
        case .gauge: 5
        case .counter: 7
        case .histogram: 9
        }
    }

    /// The unit in the Unified Code for Units of Measure; nil for a plain count.
    fileprivate var unit: String? {
        let words = name.split(separator: "_")
        if words.contains("seconds") { return "s" }
        return words.contains("bytes") ? "By" : nil
    }
}
