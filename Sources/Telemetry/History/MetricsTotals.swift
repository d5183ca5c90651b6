/// The metrics from which the history is computed: totals since the start, except memory, descriptors, requests in
/// flight and connections, which are current values.
package struct MetricsTotals: Sendable, Equatable {
    package var requests: Int64 = 0
    /// The numbers of responses with status 4xx and 5xx.
    package var clientErrors: Int64 = 0
    package var serverErrors: Int64 = 0
    /// The durations of all routes, as a row of ``DurationHistogram`` without its sum.
    package var requestDurations: [Int64] = []
    package var gatewayDurations: [Int64] = []
    package var upstreamDurations: [Int64] = []
    package var signIns: Int64 = 0
    package var signInsRefused: Int64 = 0
    /// The CPU time in microseconds; nil if the system does not report it.
    package var cpuTime: Int64?
    package var residentBytes: Int64?
    package var openDescriptors: Int64?
    package var requestsInFlight: Int64 = 0
    package var connectionsOpen: Int64 = 0
}

/// A row of durations, without its sum.
enum DurationRow {
    /// Returns the sum of the rows of all routes.
    static func total(of counts: [Int64]) -> [Int64] {
        let width = DurationHistogram.width
        return (0..<width - 1).map { place in
            stride(from: place, to: counts.count, by: width).reduce(0) { $0 + counts[$1] }
        }
    }

    /// Returns a quantile in seconds, interpolated linearly within a bucket, as Prometheus evaluates a histogram. In
    /// the lowest bucket and above the highest limit, it is that limit. Nil if there are no durations.
    static func quantile(_ share: Double, of counts: [Int64]) -> Double? {
        let all = counts.reduce(0, +)
        guard all > 0 else { return nil }
        let rank = share * Double(all)
        var below: Int64 = 0
        for (place, count) in counts.enumerated() {
            defer { below += count }
            guard Double(below + count) >= rank, count > 0 else { continue }
            guard place < DurationHistogram.limits.count else { break }
            let limit = Double(DurationHistogram.limits[place])
            guard place > 0 else { return limit / 1_000_000 }
            let floor = Double(DurationHistogram.limits[place - 1])
            return (floor + (limit - floor) * (rank - Double(below)) / Double(count)) / 1_000_000
        }
        return Double(DurationHistogram.limits[DurationHistogram.limits.count - 1]) / 1_000_000
    }
}
