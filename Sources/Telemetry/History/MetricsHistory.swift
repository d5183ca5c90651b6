internal import Clocks
package import Encoding
internal import Locking

/// The last hour of the gateway's key metrics, so that a dashboard opened during an outage shows how it began.
///
/// One point every 15 seconds, 240 points, each with 16 numbers of four bytes: 15 KiB of numbers, and about the same
/// for the arrays that contain them. Nothing is written to disk.
package final class MetricsHistory: Sendable {
    package static let interval = Duration.seconds(15)
    package static let capacity = 240

    /// The series, by their names in ``document(now:)``.
    enum Series: String, CaseIterable {
        case requests = "requests_per_second"
        case clientErrors = "client_errors_per_second"
        case serverErrors = "server_errors_per_second"
        case requestHalf = "request_p50_seconds"
        case requestMost = "request_p99_seconds"
        case gatewayHalf = "gateway_p50_seconds"
        case gatewayMost = "gateway_p99_seconds"
        case upstreamHalf = "upstream_p50_seconds"
        case upstreamMost = "upstream_p99_seconds"
        case signIns = "sign_ins_per_minute"
        case signInsRefused = "sign_ins_refused_per_minute"
        case requestsInFlight = "requests_in_flight"
        case connections = "connections_open"
        case cpu = "cpu_cores"
        case memory = "resident_bytes"
        case descriptors = "open_descriptors"
    }

    private struct Point {
        /// Seconds since 1970.
        var time: Int64
        /// The values in the order of ``Series``; NaN if unknown.
        var values: [Float]
    }

    private struct State {
        var last: (totals: MetricsTotals, at: ContinuousClock.Instant)?
        var points: [Point] = []
    }

    private let totals: @Sendable () -> MetricsTotals
    private let state = Locked(State())

    package init(_ metrics: MetricsRegistry) {
        totals = { metrics.totals }
    }

    /// Records a point after each interval, until cancelled.
    package func run() async {
        take(at: .now, time: WallClock.seconds())
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
            take(at: .now, time: WallClock.seconds())
        }
    }

    /// Records a point with the changes since the previous one.
    ///
    /// - Parameter time: the same moment in seconds since 1970.
    func take(at now: ContinuousClock.Instant, time: Int64) {
        add(totals(), at: now, time: time)
    }

    func add(_ totals: MetricsTotals, at now: ContinuousClock.Instant, time: Int64) {
        state.withLock { state in
            defer { state.last = (totals, now) }
            guard let last = state.last, now > last.at else { return }
            let seconds = (now - last.at) / .seconds(1)
            let values = Series.allCases.map { series in
                Float(Self.value(series, from: last.totals, to: totals, seconds: seconds) ?? .nan)
            }
            if state.points.count == Self.capacity { state.points.removeFirst() }
            state.points.append(Point(time: time, values: values))
        }
    }

    /// The value of a series for one interval; nil if unknown, such as a latency without requests.
    private static func value(
        _ series: Series, from before: MetricsTotals, to now: MetricsTotals, seconds: Double
    ) -> Double? {
        func rate(_ count: KeyPath<MetricsTotals, Int64>) -> Double {
            Double(max(0, now[keyPath: count] - before[keyPath: count])) / seconds
        }
        func quantile(_ share: Double, _ row: KeyPath<MetricsTotals, [Int64]>) -> Double? {
            DurationRow.quantile(share, of: zip(now[keyPath: row], before[keyPath: row]).map { max(0, $0 - $1) })
        }
        return switch series {
        case .requests: rate(\.requests)
        case .clientErrors: rate(\.clientErrors)
        case .serverErrors: rate(\.serverErrors)
        case .requestHalf: quantile(0.5, \.requestDurations)
        case .requestMost: quantile(0.99, \.requestDurations)
        case .gatewayHalf: quantile(0.5, \.gatewayDurations)
        case .gatewayMost: quantile(0.99, \.gatewayDurations)
        case .upstreamHalf: quantile(0.5, \.upstreamDurations)
        case .upstreamMost: quantile(0.99, \.upstreamDurations)
        case .signIns: rate(\.signIns) * 60
        case .signInsRefused: rate(\.signInsRefused) * 60
        case .requestsInFlight: Double(now.requestsInFlight)
        case .connections: Double(now.connectionsOpen)
        case .cpu:
            now.cpuTime.flatMap { time in before.cpuTime.map { Double(time - $0) / seconds / 1_000_000 } }
        case .memory: now.residentBytes.map(Double.init)
        case .descriptors: now.openDescriptors.map(Double.init)
        }
    }

    /// Returns `{"now", "interval_seconds", "times": [seconds since 1970 …], "series": {name: [number or null …]}}`,
    /// the oldest point first. Each number covers the interval that ends at its time.
    ///
    /// - Parameter now: seconds since 1970.
    package func document(now: Int64) -> JSONObject {
        let points = state.withLock { $0.points }
        let series = Series.allCases.enumerated().map { index, series in
            (series.rawValue, JSON.array(points.map { Self.json($0.values[index]) }))
        }
        return [
            "now": .number(JSONNumber(now)),
            "interval_seconds": .number(JSONNumber(Self.interval.components.seconds)),
            "times": .array(points.map { .number(JSONNumber($0.time)) }),
            "series": .object(JSONObject(series)),
        ]
    }

    private static func json(_ value: Float) -> JSON {
        // The shortest text of the Float, instead of the longer digits of its Double value.
        Double(value.description).flatMap { JSONNumber($0) }.map { .number($0) } ?? .null
    }
}
